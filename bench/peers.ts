/** Tokens per second beside oidc-provider, which keeps everything in memory, while ours are recorded on disk first. */
import { generateKeyPair } from '../src/kernel/keypair.ts';
import { type Agent, agentsPerOrganization, secretOf, someAgents } from './agents.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from './database.ts';
import { createLoad } from './load.ts';
import { accessToken, basicTokenRequest, tokenPath } from './requests.ts';
import { seconds, takeTurns, whole } from './rounds.ts';
import type { Bench, Result } from './run.ts';
import { serveOurs, serveProgram, whileServing } from './serving.ts';
import { callers, connections } from './tokens.ts';

const floor = 1.5;

export const peers = ({ databaseUrl, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_peers', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const client = agents[0] as Agent;
    const oidcProvider = serveProgram('oidc-provider.ts', {
      PRIVATE_KEY: keys.privatePem,
      CLIENT_ID: client.agentId,
      CLIENT_SECRET: secretOf(client),
    });
    return whileServing([serveOurs(database, keys), oidcProvider], async ([ours, theirs]) => {
      const since = new Date();
      const ourRequests = agents.map((agent) => basicTokenRequest(tokenPath, agent.agentId, secretOf(agent)));
      const theirRequest = basicTokenRequest('/token', client.agentId, secretOf(client));
      requireRs256(await accessToken(theirs.url, theirRequest));
      const ourLoad = createLoad({ url: ours.url, connections, requests: ourRequests });
      // One request for each connection: none of theirs differs from another.
      const same = Array.from({ length: connections }, () => theirRequest);
      const theirLoad = createLoad({ url: theirs.url, connections, requests: same });
      say('warming up');
      await theirLoad.run(seconds);
      await ourLoad.run(seconds);
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

/** An opaque token costs no signature and would be no comparison. */
function requireRs256(token: string): void {
  const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
  if (header.alg !== 'RS256') throw new Error(`the token of oidc-provider is signed with ${header.alg}`);
}
