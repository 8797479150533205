/**
 * ES256 and EdDSA compared with RS256: CPU time per token of the server and of PostgreSQL, and tokens per second with many connections.
 * Each server has its own database, and one at a time has load.
 */
import { generateKeyPair, type KeyKind } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad } from '../support/load.ts';
import { cpuRatioRow, type MeteredResult, runMetered } from '../support/metered.ts';
import { tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, seconds, whole } from '../support/rounds.ts';
import { type Serving, serveOurs, whileServing } from '../support/serving.ts';
import { warmUp } from './tokens.ts';

const callers = 1_000;
const connections = fromEnvironment('BENCH_CONNECTIONS', 128);
const cpuCeiling = 0.5;
const rateFloor = 1.7;

interface Measured {
  warmUp(): Promise<unknown>;
  round(): Promise<MeteredResult>;
  requireDurable(): Promise<unknown>;
}

export const algorithms = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> => {
  const withServer = <T>(name: string, kind: KeyKind, work: (measured: Measured) => Promise<T>): Promise<T> =>
    withDatabase(databaseUrl, `bench_${name}`, async (database) => {
      const keys = generateKeyPair(kind);
      await prepareDatabase(database, keys, callers / agentsPerOrganization);
      return whileServing([serveOurs(database, keys)], async ([server]) =>
        work(await measureServer(server, database, postgresPid)),
      );
    });
  return withServer('rs256', 'rsa', (rs256) =>
    withServer('es256', 'p-256', (es256) =>
      withServer('eddsa', 'ed25519', async (edDsa) => {
        log(`warming up, with ${connections} connections`);
        for (const measured of [rs256, es256, edDsa]) await measured.warmUp();
        const results = [
          ...(await compareWith('ES256', es256, rs256, log)),
          ...(await compareWith('EdDSA', edDsa, rs256, log)),
        ];
        for (const measured of [rs256, es256, edDsa]) await measured.requireDurable();
        return results;
      }),
    ),
  );
};

async function measureServer({ url, pid }: Serving, database: string, postgres: number): Promise<Measured> {
  const since = new Date();
  const agents = await withClient(database, (client) => someAgents(client, callers));
  const load = createLoad({ url, connections, requests: agents.map(tokenRequest) });
  return {
    warmUp: () => warmUp(load),
    round: () => runMetered(load, { server: pid, postgres }, seconds),
    requireDurable: () => requireDurable(database, since, load.answers()),
  };
}

async function compareWith(
  name: string,
  ours: Measured,
  rs256: Measured,
  log: BenchContext['log'],
): Promise<Result[]> {
  log(`${name} and RS256`);
  const comparison = await compare({ ours: ours.round, baseline: rs256.round, log });
  return [
    cpuRatioRow(`CPU time per token, server and PostgreSQL, ${name} ÷ RS256`, comparison, cpuCeiling),
    {
      metric: `tokens per second, ${connections} connections, ${name} ÷ RS256`,
      result: comparison.ratio.toFixed(2),
      baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
      target: `at least ${rateFloor}`,
      met: comparison.ratio >= rateFloor,
    },
  ];
}
