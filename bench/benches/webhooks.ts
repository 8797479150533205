/** Webhook deliveries compared with a bare loop that posts the same bodies, and the delay of an event while another receiver hangs. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Pool } from 'undici';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { signedHeaders } from '../../src/kernel/delivery/signature.ts';
import { someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../support/database.ts';
import {
  deliveringLocally,
  insertDeliveries,
  payload,
  signingSecret,
  subscribe,
  tlsFixture,
} from '../support/generators/deliveries.ts';
import { send, tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, median, whole } from '../support/rounds.ts';
import { freePort, type Serving, serveOurs, serveProgram, whileServing } from '../support/serving.ts';

const each = fromEnvironment('BENCH_DELIVERIES', 5_000);
const events = fromEnvironment('BENCH_WEBHOOK_EVENTS', 200);
const pending = 10_000;
/** The default of WEBHOOK_WORKER_CONCURRENCY; the bare loop has the same concurrency. */
const concurrency = 5;
const floor = 0.3;
const ceilingMs = 100;

export const webhooks = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_webhooks', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 1);
    const serving = () => serveOurs(database, keys, deliveringLocally);
    return withClient(database, async (client) => [
      await measureRate(client, serving, log),
      await measureDelay(client, serving, log),
    ]);
  });

async function measureRate(
  client: pg.Client,
  serving: () => Promise<Serving>,
  log: BenchContext['log'],
): Promise<Result> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const receiver = serveProgram('receiver.ts', { TLS_PORT: String(port) });
  const subscription = await subscribe(client, url, 'token.revoked');
  return whileServing([serving(), receiver], async ([, { url: counter }]) => {
    const bare = new Pool(url, {
      connections: concurrency,
      connect: { ca: readFileSync(tlsFixture('ca.pem')) },
    });
    const measureOurs = () => rateOf(counter, () => insertDeliveries(client, subscription, each));
    const measureBare = () => rateOf(counter, () => postAll(bare));
    log('warming up');
    await measureBare();
    await measureOurs();
    const { ratio, ours, baseline } = await compare({ ours: measureOurs, baseline: measureBare, log });
    await bare.close();
    return {
      metric: `deliveries per second through one worker ÷ a bare undici loop to the same receiver, concurrency ${concurrency}`,
      result: ratio.toFixed(2),
      baseline: `${whole(ours)} ÷ ${whole(baseline)}`,
      target: `at least ${floor}`,
      met: ratio >= floor,
    };
  });
}

interface Received {
  readonly count: number;
  readonly lastAt: number;
}

/** From the commit of the deliveries, or the first post, until the last one has arrived. */
async function rateOf(counter: string, begin: () => Promise<number>) {
  const readCounter = async () => (await (await fetch(`${counter}/health`)).json()) as Received;
  const { count } = await readCounter();
  const begun = await begin();
  for (;;) {
    const now = await readCounter();
    if (now.count >= count + each) return { perSecond: each / ((now.lastAt - begun) / 1000) };
    await sleep(20);
  }
}

/** Signs each delivery as the worker does, so that the comparison measures the queue. */
async function postAll(pool: Pool): Promise<number> {
  const started = Date.now();
  let left = each;
  const post = async () => {
    while (left > 0) {
      left -= 1;
      const timestamp = Math.floor(Date.now() / 1000);
      const delivered = { deliveryId: randomUUID(), eventType: 'token.revoked', payload, timestamp };
      const headers = signedHeaders(delivered, { current: signingSecret });
      const { body: answer } = await pool.request({ method: 'POST', path: '/', headers, body: payload });
      await answer.dump();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, post));
  return started;
}

async function measureDelay(
  client: pg.Client,
  serving: () => Promise<Serving>,
  log: BenchContext['log'],
): Promise<Result> {
  const agents = await someAgents(client, events, 'bench-1');
  // Accepts connections and never answers.
  const hanging = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
  const delays: number[] = [];
  const responsive = createTlsServer(
    { cert: readFileSync(tlsFixture('server.pem')), key: readFileSync(tlsFixture('server-key.pem')) },
    async (request, response) => {
      const arrivedAt = Date.now();
      let text = '';
      for await (const chunk of request) text += chunk;
      delays.push(arrivedAt - Date.parse(JSON.parse(text).timestamp));
      response.writeHead(204).end();
    },
  );
  await new Promise<void>((resolve) => responsive.listen(0, '127.0.0.1', resolve));
  const portOf = (server: { address(): unknown }) => (server.address() as { port: number }).port;
  await insertDeliveries(
    client,
    await subscribe(client, `https://127.0.0.1:${portOf(hanging)}`, 'token.revoked'),
    pending,
  );
  await subscribe(client, `https://127.0.0.1:${portOf(responsive)}`, 'token.issued');
  try {
    return await whileServing([serving()], async ([server]) => {
      log(`${whole(pending)} deliveries pending for a receiver that never answers`);
      await sleep(2_000);
      for (const agent of agents) {
        await send(server.url, tokenRequest(agent));
        await sleep(10);
      }
      while (delays.length < events) await sleep(20);
      const measured = median(delays);
      return {
        metric: 'median delay of an event while another receiver hangs with 10,000 deliveries pending',
        result: `${measured.toFixed(0)} ms`,
        baseline: `${whole(events)} events, sequential; the slowest ${Math.max(...delays)} ms`,
        target: `under ${ceilingMs} ms`,
        met: measured < ceilingMs,
      };
    });
  } finally {
    responsive.closeAllConnections();
    responsive.close();
    hanging.close();
  }
}
