/** Memory use while a slow client downloads the cards of a large organization. */
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Agent, agentsPerOrganization, fillAgents, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { send, tokenRequest } from '../support/requests.ts';
import { fromEnvironment, whole } from '../support/rounds.ts';

const agents = fromEnvironment('BENCH_CARDS', 100_000);
/** Slower than the server writes, so that backpressure applies again and again. */
const delayMs = 50;
const bytesBetween = 1_000_000;
const ceilingMegabytes = 10;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export const cards = ({ databaseUrl, folder, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_cards', async (own) => {
    const app = await openApp(own);
    try {
      const agent = await fill(own);
      log(`${whole(agents)} agents`);
      await app.http.server.listen({ port: 0, host: '127.0.0.1' });
      const url = `http://127.0.0.1:${(app.http.server.server.address() as AddressInfo).port}`;
      const { access_token: token } = await send<{ access_token: string }>(url, tokenRequest(agent));
      const file = join(folder, 'cards.json');
      const { memory, ms } = await exportCards(url, token, file);
      return [resultOf(memory, ms, readFileSync(file))];
    } finally {
      await app.close();
    }
  });

function resultOf(memory: readonly number[], ms: number, body: Buffer): Result {
  const read = new Set((JSON.parse(body.toString()) as { did: string }[]).map(({ did }) => did));
  if (read.size !== agents) throw new Error(`${read.size} cards instead of ${agents}`);
  const growth = Math.max(...memory) - (memory[0] ?? 0);
  return {
    metric: `growth of memory while a slow client downloads ${whole(agents)} cards, since the first megabyte`,
    result: `${growth.toFixed(1)} MB`,
    baseline: `${Math.round(body.length / 1e6)} MB of JSON in ${(ms / 1_000).toFixed(1)} s, ${memory.length} samples`,
    target: `under ${ceilingMegabytes} MB`,
    met: growth < ceilingMegabytes,
  };
}

/** All agents in one organization. Returns one that may call the API. */
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

/** Writes to a file, with a delay after each megabyte. `memory` is the memory in use then, in megabytes, after a garbage collection. */
async function exportCards(url: string, token: string, file: string) {
  const started = performance.now();
  const request = get(`${url}/api/v1/compliance/agent-cards`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`agent-cards: ${response.statusCode}`);
  const out = createWriteStream(file);
  const memory: number[] = [];
  let since = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (!out.write(chunk)) await once(out, 'drain');
    since += chunk.length;
    if (since < bytesBetween) continue;
    since = 0;
    await sleep(delayMs);
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    memory.push((heapUsed + external) / 1e6);
  }
  out.end();
  await once(out, 'finish');
  return { memory, ms: performance.now() - started };
}
