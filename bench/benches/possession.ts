/**
 * CPU time of a token that is bound to a key (DPoP) compared with a bearer token, both signed with the same algorithm: the server verifies
 * a signature more, and stores that the proof is used. Each client has a key of its own, and each proof is sent once.
 */
import { generateKeyPair, type KeyKind } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { cpuRatioRow, runMetered } from '../support/metered.ts';
import { createProver } from '../support/proofs.ts';
import { tokenPath, tokenRequest } from '../support/requests.ts';
import { compare, seconds } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { connections, warmUp } from './tokens.ts';

const ceiling = 1.35;
/** More than two cores can issue. */
const mostPerSecond = 6_000;
const algorithms: Readonly<Record<string, KeyKind>> = { RS256: 'rsa', ES256: 'p-256', EdDSA: 'ed25519' };

export async function possession(bench: BenchContext): Promise<Result[]> {
  const results: Result[] = [];
  for (const [name, kind] of Object.entries(algorithms)) results.push(await measure(bench, name, kind));
  return results;
}

const measure = (
  { databaseUrl, postgresPid, log }: BenchContext,
  name: string,
  kind: KeyKind,
): Promise<Result> =>
  withDatabase(databaseUrl, `bench_possession_${kind.replaceAll('-', '')}`, async (database) => {
    const keys = generateKeyPair(kind);
    await prepareDatabase(database, keys, 1);
    const agents = await withClient(database, (client) => someAgents(client, agentsPerOrganization));
    return whileServing([serveOurs(database, keys)], async ([{ url, pid }]) => {
      const since = new Date();
      const bearer = createLoad({ url, connections, requests: agents.map(tokenRequest) });
      log(`${name}: warming up, with ${connections} connections`);
      await warmUp(bearer);
      const callers = agents.map((agent) => ({ request: tokenRequest(agent), prove: createProver() }));
      const address = `http://localhost:${new URL(url).port}${tokenPath}`;
      let answers = 0;
      /** Made before each run: a proof counts once, and for five minutes. */
      const withProofs = async <T>(seconds: number, run: (bound: Load) => Promise<T>): Promise<T> => {
        const requests = Array.from({ length: mostPerSecond * (seconds + 1) }, (_, index) => {
          const { request, prove } = callers[index % callers.length] as (typeof callers)[number];
          return { ...request, headers: { ...request.headers, dpop: prove('POST', address) } };
        });
        const bound = createLoad({ url, connections, requests });
        const result = await run(bound);
        answers += bound.answers();
        return result;
      };
      log(`${name}: warming up with proofs`);
      await withProofs(3 * seconds, (bound) => bound.run(3 * seconds));
      const metered = (load: Load) => runMetered(load, { server: pid, postgres: postgresPid }, seconds);
      const comparison = await compare({
        ours: () => withProofs(seconds, metered),
        baseline: () => metered(bearer),
        log,
      });
      await requireDurable(database, since, bearer.answers() + answers);
      return cpuRatioRow(
        `CPU time, server and PostgreSQL, token bound by an ES256 proof ÷ bearer token, both signed with ${name}`,
        comparison,
        ceiling,
      );
    });
  });
