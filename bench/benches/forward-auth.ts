/** CPU time of forward authentication compared with introspection of the same tokens. */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, grantResource, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { cpuRatioRow, runMetered } from '../support/metered.ts';
import {
  accessToken,
  forwardAuthRequest,
  introspectionRequest,
  resourceTokenRequest,
  tokenRequest,
} from '../support/requests.ts';
import { compare, seconds, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { connections, warmUp } from './tokens.ts';

const ceiling = 1.2;

export const forwardAuth = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_forward_auth', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 1);
    const agents = await withClient(database, (client) => someAgents(client, agentsPerOrganization));
    const resource = await withClient(database, grantResource);
    return whileServing([serveOurs(database, keys)], async ([{ url, pid }]) => {
      log(`${whole(agents.length)} tokens`);
      const tokens: string[] = [];
      for (const agent of agents) tokens.push(await accessToken(url, resourceTokenRequest(agent, resource)));
      const [first] = agents;
      if (!first) throw new Error('no agents');
      const caller = await accessToken(url, tokenRequest(first));
      const loadOf = (requests: ReturnType<typeof introspectionRequest>[]) =>
        createLoad({ url, connections, requests });
      const forwarded = loadOf(tokens.map((token) => forwardAuthRequest(token, resource, 'scope:1')));
      const introspected = loadOf(tokens.map((token) => introspectionRequest(caller, token)));
      for (const load of [introspected, forwarded]) await warmUp(load);
      const metered = (load: Load) => runMetered(load, { server: pid, postgres: postgresPid }, seconds);
      const comparison = await compare({
        ours: () => metered(forwarded),
        baseline: () => metered(introspected),
        log,
      });
      return [
        cpuRatioRow(
          'CPU time, server and PostgreSQL, GET /forward-auth ÷ POST /token/introspect',
          comparison,
          ceiling,
        ),
      ];
    });
  });
