/** Tokens per second and CPU time per token compared with servers that also store in PostgreSQL: Keycloak, and Hydra if HYDRA_BIN is set. */
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { type Agent, secretOf, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../../support/database.ts';
import { createLoad } from '../../support/load.ts';
import { cpuRow, medianCpu, microsecondsText, runMetered } from '../../support/metered.ts';
import { basicTokenRequest, tokenPath } from '../../support/requests.ts';
import { compare, fromEnvironment, seconds, whole } from '../../support/rounds.ts';
import { hydraTokenPath, serveHydra } from '../../support/servers/hydra.ts';
import { keycloakTokenPath, serveKeycloak } from '../../support/servers/keycloak.ts';
import { type Serving, serveOurs, whileServing } from '../../support/serving.ts';
import { connections, warmUp } from '../tokens.ts';

const clients = fromEnvironment('BENCH_RIVAL_CLIENTS', 1_000);
const floor = 1;

interface Rival {
  readonly name: string;
  readonly tokenPath: string;
  start(database: string, agents: readonly Agent[]): Promise<Serving>;
}

export async function rivals(bench: BenchContext): Promise<Result[]> {
  const hydraBin = process.env.HYDRA_BIN;
  const all: Rival[] = [{ name: 'Keycloak', tokenPath: keycloakTokenPath, start: serveKeycloak }];
  if (hydraBin)
    all.push({
      name: 'Hydra',
      tokenPath: hydraTokenPath,
      start: (database, agents) => serveHydra(hydraBin, database, agents),
    });
  return withDatabase(bench.databaseUrl, 'bench_rivals', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 1, clients);
    const agents = await withClient(database, (client) => someAgents(client, clients));
    const rows: Result[] = [];
    for (const rival of all)
      rows.push(
        ...(await withDatabase(bench.databaseUrl, `bench_${rival.name.toLowerCase()}`, (theirs) => {
          bench.log(`starting ${rival.name} with ${whole(clients)} clients`);
          const servers = [serveOurs(database, keys), rival.start(theirs, agents)] as const;
          return whileServing(servers, ([ours, other]) =>
            measure(bench, rival, { database, agents, ours, other }),
          );
        })),
      );
    return rows;
  });
}

interface Running {
  readonly database: string;
  readonly agents: readonly Agent[];
  readonly ours: Serving;
  readonly other: Serving;
}

async function measure(
  { postgresPid, log }: BenchContext,
  { name, tokenPath: theirPath }: Rival,
  { database, agents, ours, other }: Running,
): Promise<Result[]> {
  const since = new Date();
  const loadOf = ({ url }: Serving, path: string) =>
    createLoad({
      url,
      connections,
      requests: agents.map((agent) => basicTokenRequest(path, agent.agentId, secretOf(agent))),
    });
  const [ourLoad, theirLoad] = [loadOf(ours, tokenPath), loadOf(other, theirPath)];
  log('warming up');
  await warmUp(theirLoad);
  await warmUp(ourLoad);
  const comparison = await compare({
    ours: () => runMetered(ourLoad, { server: ours.pid, postgres: postgresPid }, seconds),
    baseline: () => runMetered(theirLoad, { server: other.pid, postgres: postgresPid }, seconds),
    log,
  });
  await requireDurable(database, since, ourLoad.answers());
  const theirs = (part: 'server' | 'postgres') =>
    microsecondsText(medianCpu(comparison.baselineRounds, part));
  return [
    {
      metric: `tokens per second ÷ ${name} with PostgreSQL`,
      result: comparison.ratio.toFixed(1),
      baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
      target: `at least ${floor}`,
      met: comparison.ratio >= floor,
    },
    cpuRow({
      metric: `token: ours, server and PostgreSQL, beside ${name}`,
      microseconds: medianCpu(comparison.ourRounds, 'total'),
      baseline: `${name} ${theirs('server')}, PostgreSQL ${theirs('postgres')}`,
    }),
  ];
}
