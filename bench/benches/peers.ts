/** Tokens per second beside oidc-provider, which keeps everything in memory, while ours are recorded on disk first. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { type Agent, agentsPerOrganization, secretOf, someAgents } from '../support/agents.ts';
import type { Bench, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { accessToken, basicTokenRequest, tokenPath } from '../support/requests.ts';
import { seconds, takeTurns, whole } from '../support/rounds.ts';
import { type Serving, serveOurs, serveProgram, whileServing } from '../support/serving.ts';
import { callers, connections, warmUp } from './tokens.ts';

const floor = 1.5;

export const peers = ({ databaseUrl, folder, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_peers', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const theirs = { PRIVATE_KEY: keys.privatePem, CLIENTS: writeClients(folder, agents) };
    const oidcProvider = serveProgram('oidc-provider.ts', theirs);
    const least = serveProgram('least-server.ts', { ...theirs, DATABASE_URL: database });
    return whileServing([serveOurs(database, keys), least, oidcProvider], async (servers) => {
      const since = new Date();
      const loadOf = ({ url }: Serving, path: string) =>
        createLoad({
          url,
          connections,
          requests: agents.map((agent) => basicTokenRequest(path, agent.agentId, secretOf(agent))),
        });
      const [ours, barest, provider] = servers;
      const ourLoad = loadOf(ours, tokenPath);
      const leastLoad = loadOf(barest, '/token');
      const theirLoad = loadOf(provider, '/token');
      requireRs256(await accessToken(provider.url, basicTokenRequest('/token', ...firstOf(agents))));
      say('warming up');
      for (const load of [theirLoad, ourLoad, leastLoad]) await warmUp(load);
      const against = (load: Load) =>
        takeTurns({ ours: () => load.run(seconds), theirs: () => theirLoad.run(seconds), say });
      const turns = await against(ourLoad);
      await requireDurable(database, since, ourLoad.answers());
      say('the least that a server can do');
      const leastTurns = await against(leastLoad);
      return [
        {
          what: 'tokens per second, durable ÷ those of oidc-provider, in memory',
          measured: turns.ratio.toFixed(2),
          beside: `${whole(turns.ours)} ÷ ${whole(turns.theirs)}`,
          target: `at least ${floor}`,
          met: turns.ratio >= floor,
        },
        {
          what: 'the same of a server that signs and writes one row, and does nothing else',
          measured: leastTurns.ratio.toFixed(2),
          beside: `${whole(leastTurns.ours)} ÷ ${whole(leastTurns.theirs)}`,
          target: 'none: to read the row above by',
          met: true,
        },
      ];
    });
  });

function firstOf([agent]: readonly Agent[]): [id: string, secret: string] {
  if (!agent) throw new Error('nothing to ask for');
  return [agent.agentId, secretOf(agent)];
}

/** By a file: ten thousand of them do not fit into an environment. */
function writeClients(folder: string, agents: readonly Agent[]): string {
  const file = join(folder, 'clients.json');
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(agents.map((agent) => [agent.agentId, secretOf(agent)]))),
  );
  return file;
}

/** An opaque token costs no signature and would be no comparison. */
function requireRs256(token: string): void {
  const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
  if (header.alg !== 'RS256') throw new Error(`the token of oidc-provider is signed with ${header.alg}`);
}
