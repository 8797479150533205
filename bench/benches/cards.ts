/** What is held while the cards of a large organization go to a reader that takes its time. */
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Agent, agentsPerOrganization, fillAgents, someAgents } from '../support/agents.ts';
import type { Bench, Result } from '../support/bench.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { ask, tokenRequest } from '../support/requests.ts';
import { fromEnvironment, whole } from '../support/rounds.ts';

const agents = fromEnvironment('BENCH_CARDS', 100_000);
/** Slower than they are written, so that the server waits for the reader again and again. */
const pauseMs = 50;
const bytesBetween = 1_000_000;
const ceilingMegabytes = 10;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export const cards = ({ databaseUrl, folder, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_cards', async (own) => {
    const app = await openApp(own);
    try {
      const agent = await fill(own);
      say(`${whole(agents)} agents`);
      await app.http.server.listen({ port: 0, host: '127.0.0.1' });
      const url = `http://127.0.0.1:${(app.http.server.server.address() as AddressInfo).port}`;
      const { access_token: token } = await ask<{ access_token: string }>(url, tokenRequest(agent));
      const file = join(folder, 'cards.json');
      const { held, ms } = await exportCards(url, token, file);
      return [resultOf(held, ms, readFileSync(file))];
    } finally {
      await app.close();
    }
  });

function resultOf(held: readonly number[], ms: number, body: Buffer): Result {
  const read = new Set((JSON.parse(body.toString()) as { did: string }[]).map(({ did }) => did));
  if (read.size !== agents) throw new Error(`${read.size} cards instead of ${agents}`);
  const grown = Math.max(...held) - (held[0] ?? 0);
  return {
    what: `memory held while ${whole(agents)} cards go to a slow reader, at most above that at the first megabyte`,
    measured: `${grown.toFixed(1)} MB`,
    beside: `${Math.round(body.length / 1e6)} MB of JSON in ${(ms / 1_000).toFixed(1)} s, looked at ${held.length} times`,
    target: `under ${ceilingMegabytes} MB`,
    met: grown < ceilingMegabytes,
  };
}

/** All of them in one organization; answers one that may ask. */
const fill = (databaseUrl: string): Promise<Agent> =>
  withClient(databaseUrl, async (client) => {
    await fillAgents(client, 1, 1);
    const [agent] = await someAgents(client, 1);
    if (!agent) throw new Error('there is no agent');
    await client.query(
      `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                           status, allowed_scopes, created_at, updated_at)
       select gen_random_uuid(), $1, 'card-' || n || '@example.com', 'router', '1.0.0', array['bench:run', 'bench:walk'],
              'team-' || n, 'production', 'active', '{}', now() - n * interval '1 second', now()
       from generate_series($2::int + 1, $3::int) n`,
      [agent.organizationId, agentsPerOrganization, agents],
    );
    await client.query('vacuum analyze agents');
    return agent;
  });

/** To a file, with a pause after each megabyte; `held` is what was in use then, in megabytes, without what only waits to be collected. */
async function exportCards(url: string, token: string, file: string) {
  const started = performance.now();
  const request = get(`${url}/api/v1/compliance/agent-cards`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`agent-cards: ${response.statusCode}`);
  const out = createWriteStream(file);
  const held: number[] = [];
  let since = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (!out.write(chunk)) await once(out, 'drain');
    since += chunk.length;
    if (since < bytesBetween) continue;
    since = 0;
    await sleep(pauseMs);
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    held.push((heapUsed + external) / 1e6);
  }
  out.end();
  await once(out, 'finish');
  return { held, ms: performance.now() - started };
}
