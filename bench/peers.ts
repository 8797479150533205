/** Tokens per second beside oidc-provider, which keeps everything in memory, while ours are recorded on disk first. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPair } from '../src/kernel/keypair.ts';
import { type Agent, agentsPerOrganization, secretOf, someAgents } from './agents.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from './database.ts';
import { createLoad } from './load.ts';
import { accessToken, basicTokenRequest, tokenPath } from './requests.ts';
import { seconds, takeTurns, whole } from './rounds.ts';
import type { Bench, Result } from './run.ts';
import { serveOurs, serveProgram, whileServing } from './serving.ts';
import { callers, connections, warmUp } from './tokens.ts';

const floor = 1.5;

export const peers = ({ databaseUrl, folder, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_peers', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const oidcProvider = serveProgram('oidc-provider.ts', {
      PRIVATE_KEY: keys.privatePem,
      CLIENTS: writeClients(folder, agents),
    });
    return whileServing([serveOurs(database, keys), oidcProvider], async ([ours, theirs]) => {
      const since = new Date();
      const requestsAt = (path: string) =>
        agents.map((agent) => basicTokenRequest(path, agent.agentId, secretOf(agent)));
      const [first] = requestsAt('/token');
      if (!first) throw new Error('nothing to ask for');
      requireRs256(await accessToken(theirs.url, first));
      const ourLoad = createLoad({ url: ours.url, connections, requests: requestsAt(tokenPath) });
      const theirLoad = createLoad({ url: theirs.url, connections, requests: requestsAt('/token') });
      say('warming up');
      await warmUp(theirLoad);
      await warmUp(ourLoad);
      const turns = await takeTurns({
        ours: () => ourLoad.run(seconds),
        theirs: () => theirLoad.run(seconds),
        say,
      });
      await requireDurable(database, since, ourLoad.answers());
      return [
        {
          what: 'tokens per second, durable ÷ those of oidc-provider, in memory',
          measured: turns.ratio.toFixed(2),
          beside: `${whole(turns.ours)} ÷ ${whole(turns.theirs)}`,
          target: `at least ${floor}`,
          met: turns.ratio >= floor,
        },
      ];
    });
  });

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
