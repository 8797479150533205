/** What is asked most, beside a Fastify route that has the answer ready: what it costs to find out who asks and what may be believed. */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { Bench, Result } from '../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Request } from '../support/load.ts';
import { accessToken, agentRequest, ask, introspectionRequest, tokenRequest } from '../support/requests.ts';
import { seconds, takeTurns, whole } from '../support/rounds.ts';
import { serveOurs, serveProgram, whileServing } from '../support/serving.ts';
import { connections, warmUp } from './tokens.ts';

const different = agentsPerOrganization;

interface Question {
  readonly what: string;
  readonly floor: number;
  readonly requests: readonly Request[];
}

export const answers = ({ databaseUrl, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_answers', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 10);
    const agents = await withClient(database, (client) => someAgents(client, different, 'bench-1'));
    return whileServing([serveOurs(database, keys)], async ([server]) => {
      say(`${whole(different)} tokens to ask about`);
      const tokens: string[] = [];
      for (const agent of agents) tokens.push(await accessToken(server.url, tokenRequest(agent)));
      const caller = tokens[0] ?? '';
      const questions: Question[] = [
        {
          what: 'POST /token/introspect',
          floor: 0.5,
          requests: tokens.map((token) => introspectionRequest(caller, token)),
        },
        {
          what: 'GET /agents/{agentId}',
          floor: 0.4,
          requests: agents.map((agent) => agentRequest(caller, agent)),
        },
      ];
      const results: Result[] = [];
      for (const question of questions) {
        say(question.what);
        results.push(await measure(server.url, question, say));
      }
      return results;
    });
  });

/** The bare server gets the same bytes, and returns one of our own answers. */
async function measure(url: string, { what, floor, requests }: Question, say: Bench['say']): Promise<Result> {
  const [first] = requests;
  if (!first) throw new Error('nothing to ask for');
  const answer = await ask<{ active?: boolean }>(url, first);
  if (answer.active === false) throw new Error('the token is not active');
  const bare = serveProgram('bare-fastify.ts', { ANSWER: JSON.stringify(answer) });
  return whileServing([bare], async ([other]) => {
    const [ourLoad, bareLoad] = [url, other.url].map((at) => createLoad({ url: at, connections, requests }));
    if (!ourLoad || !bareLoad) throw new Error('unreachable');
    await warmUp(bareLoad);
    await warmUp(ourLoad);
    const { ratio, ours, theirs } = await takeTurns({
      ours: () => ourLoad.run(seconds),
      theirs: () => bareLoad.run(seconds),
      say,
    });
    return {
      what: `${what} per second ÷ a bare Fastify route with the same answer`,
      measured: ratio.toFixed(3),
      beside: `${whole(ours)} ÷ ${whole(theirs)}`,
      target: `at least ${floor}`,
      met: ratio >= floor,
    };
  });
}
