/**
 * ES256 and EdDSA compared with RS256: CPU time per token of the server and of PostgreSQL (Linux counts it by thread in schedstat), and
 * tokens per second with many connections. Each server has its own database, and one at a time has load.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPair, type KeyKind } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad } from '../support/load.ts';
import { tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, median, type Rate, seconds, whole } from '../support/rounds.ts';
import { type Serving, serveOurs, whileServing } from '../support/serving.ts';
import { warmUp } from './tokens.ts';

const callers = 1_000;
const connections = fromEnvironment('BENCH_CONNECTIONS', 128);
const cpuCeiling = 0.5;
const rateFloor = 1.7;

interface Round extends Rate {
  readonly microsecondsPerToken: number;
}

interface Measured {
  warmUp(): Promise<unknown>;
  round(): Promise<Round>;
  requireDurable(): Promise<unknown>;
}

export const algorithms = ({ databaseUrl, folder, log }: BenchContext): Promise<Result[]> => {
  const postmaster = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const withServer = <T>(name: string, kind: KeyKind, work: (measured: Measured) => Promise<T>): Promise<T> =>
    withDatabase(databaseUrl, `bench_${name}`, async (database) => {
      const keys = generateKeyPair(kind);
      await prepareDatabase(database, keys, callers / agentsPerOrganization);
      return whileServing([serveOurs(database, keys)], async ([server]) =>
        work(await measureServer(server, database, postmaster)),
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

async function measureServer({ url }: Serving, database: string, postmaster: number): Promise<Measured> {
  const since = new Date();
  const agents = await withClient(database, (client) => someAgents(client, callers));
  const load = createLoad({ url, connections, requests: agents.map(tokenRequest) });
  const server = processServing(url);
  const cpuByProcess = () =>
    new Map([server, postmaster, ...childrenOf(postmaster)].map((pid) => [pid, cpuOf(pid)]));
  return {
    warmUp: () => warmUp(load),
    async round() {
      const [before, answers] = [cpuByProcess(), load.answers()];
      const { perSecond } = await load.run(seconds);
      // By process: a backend that ends during the round must not take its earlier CPU time out of the sum.
      const spent = [...cpuByProcess()].map(([pid, cpu]) => cpu - (before.get(pid) ?? 0));
      const tokens = load.answers() - answers;
      return { perSecond, microsecondsPerToken: spent.reduce((sum, each) => sum + each, 0) / tokens };
    },
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
  const baselineRounds: Round[] = [];
  const { ratio, ourRounds, ...rates } = await compare({
    ours: ours.round,
    async baseline() {
      const round = await rs256.round();
      baselineRounds.push(round);
      return round;
    },
    log,
  });
  const listed = (rounds: readonly Round[]) =>
    rounds.map(({ microsecondsPerToken }) => whole(microsecondsPerToken)).join(', ');
  log(`µs of CPU time per token: ${listed(ourRounds)}; RS256: ${listed(baselineRounds)}`);
  const perToken = (rounds: readonly Round[]) =>
    median(rounds.map(({ microsecondsPerToken }) => microsecondsPerToken));
  const cpuRatio = median(
    ourRounds.map(
      ({ microsecondsPerToken }, at) =>
        microsecondsPerToken / (baselineRounds[at]?.microsecondsPerToken ?? Number.NaN),
    ),
  );
  return [
    {
      metric: `CPU time per token, server and PostgreSQL, ${name} ÷ RS256`,
      result: cpuRatio.toFixed(2),
      baseline: `${whole(perToken(ourRounds))} ÷ ${whole(perToken(baselineRounds))} µs`,
      target: `at most ${cpuCeiling}`,
      met: cpuRatio <= cpuCeiling,
    },
    {
      metric: `tokens per second, ${connections} connections, ${name} ÷ RS256`,
      result: ratio.toFixed(2),
      baseline: `${whole(rates.ours)} ÷ ${whole(rates.baseline)}`,
      target: `at least ${rateFloor}`,
      met: ratio >= rateFloor,
    },
  ];
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
};
const processes = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

/** The server that we started with this port. */
function processServing(url: string): number {
  const variable = `\0PORT=${new URL(url).port}\0`;
  const found = processes().find((pid) => `\0${read(`/proc/${pid}/environ`)}`.includes(variable));
  if (found === undefined) throw new Error(`no process has the port of ${url}`);
  return Number(found);
}

const childrenOf = (parent: number): number[] =>
  processes()
    .filter((pid) => new RegExp(`^PPid:\\s${parent}$`, 'm').test(read(`/proc/${pid}/status`)))
    .map(Number);

/** Of all its threads, in microseconds. */
function cpuOf(pid: number): number {
  const threads = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : [];
  const nanoseconds = threads.map((thread) =>
    Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0] ?? 0),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1_000;
}
