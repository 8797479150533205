/** Tokens per second compared with oidc-provider, which stores everything in memory; ours are on disk before the response. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { type Agent, agentsPerOrganization, secretOf, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { cpuRow, medianCpu, microsecondsText, runMetered } from '../support/metered.ts';
import { accessToken, basicTokenRequest, tokenPath } from '../support/requests.ts';
import { compare, seconds, whole } from '../support/rounds.ts';
import { type Serving, serveOurs, serveProgram, whileServing } from '../support/serving.ts';
import { callers, connections, warmUp } from './tokens.ts';

const floor = 1.5;

export const peers = ({ databaseUrl, postgresPid, folder, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_peers', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const settings = { PRIVATE_KEY: keys.privatePem, CLIENTS: writeClients(folder, agents) };
    const oidcProvider = serveProgram('oidc-provider.ts', settings);
    const minimal = serveProgram('minimal-server.ts', { ...settings, DATABASE_URL: database });
    return whileServing([serveOurs(database, keys), minimal, oidcProvider], async (servers) => {
      const since = new Date();
      const loadOf = ({ url }: Serving, path: string) =>
        createLoad({
          url,
          connections,
          requests: agents.map((agent) => basicTokenRequest(path, agent.agentId, secretOf(agent))),
        });
      const [ours, minimalServer, provider] = servers;
      const ourLoad = loadOf(ours, tokenPath);
      const minimalLoad = loadOf(minimalServer, '/token');
      const providerLoad = loadOf(provider, '/token');
      requireRs256(await accessToken(provider.url, basicTokenRequest('/token', ...firstOf(agents))));
      log('warming up');
      for (const load of [providerLoad, ourLoad, minimalLoad]) await warmUp(load);
      const compareWithProvider = (load: Load, { pid }: Serving) =>
        compare({
          ours: () => runMetered(load, { server: pid, postgres: postgresPid }, seconds),
          baseline: () => runMetered(providerLoad, { server: provider.pid }, seconds),
          log,
        });
      const comparison = await compareWithProvider(ourLoad, ours);
      await requireDurable(database, since, ourLoad.answers());
      log('minimal server');
      const minimalComparison = await compareWithProvider(minimalLoad, minimalServer);
      return [
        {
          metric: 'tokens per second, durable ÷ oidc-provider, in memory',
          result: comparison.ratio.toFixed(2),
          baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
          target: `at least ${floor}`,
          met: comparison.ratio >= floor,
        },
        {
          metric: 'a minimal server that only signs and writes one row ÷ oidc-provider',
          result: minimalComparison.ratio.toFixed(2),
          baseline: `${whole(minimalComparison.ours)} ÷ ${whole(minimalComparison.baseline)}`,
          target: 'none: an upper bound for the row above',
          met: true,
        },
        cpuRow({
          metric: 'token: ours, server and PostgreSQL',
          microseconds: medianCpu(comparison.ourRounds, 'total'),
          baseline: `oidc-provider ${microsecondsText(medianCpu(comparison.baselineRounds, 'total'))}`,
        }),
        cpuRow({
          metric: 'token: the minimal server and PostgreSQL',
          microseconds: medianCpu(minimalComparison.ourRounds, 'total'),
          baseline: `oidc-provider ${microsecondsText(medianCpu(minimalComparison.baselineRounds, 'total'))}`,
        }),
      ];
    });
  });

function firstOf([agent]: readonly Agent[]): [id: string, secret: string] {
  if (!agent) throw new Error('no agents');
  return [agent.agentId, secretOf(agent)];
}

/** In a file: ten thousand clients do not fit into an environment variable. */
function writeClients(folder: string, agents: readonly Agent[]): string {
  const file = join(folder, 'clients.json');
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(agents.map((agent) => [agent.agentId, secretOf(agent)]))),
  );
  return file;
}

/** An opaque token needs no signature, so it could not be compared. */
function requireRs256(token: string): void {
  const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
  if (header.alg !== 'RS256') throw new Error(`the token of oidc-provider is signed with ${header.alg}`);
}
