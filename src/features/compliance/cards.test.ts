/** The export of many cards to slow or disconnected clients: backpressure, page by page. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';

const agents = 5_000;
/** Some kilobytes each, so that together they exceed the socket buffers. */
const capabilities = 100;
/** The page size of cards.ts. */
const pages = agents / 250;

const t = await startApp();
await t.app.http.server.listen({ port: 0, host: '127.0.0.1' });
const { port } = t.app.http.server.server.address() as AddressInfo;
const token = await t.token();
await t.sql(
  `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
                       allowed_scopes, created_at, updated_at)
   select gen_random_uuid(), $1, 'many-' || n || '@example.com', 'router', '1.0.0',
          array(select 'resource-with-a-long-name-' || c || ':and-an-action-with-another-' || n from generate_series(1, $2::int) c),
          'owner', 'staging', 'active', '{}', now(), now() from generate_series(1, $3::int) n`,
  [t.operator.organizationId, capabilities, agents],
);

const pagesRead = async () =>
  Number(
    /^service_db_query_duration_seconds_count\{operation="compliance.activeAgents"\} (\d+)$/m.exec(
      await t.app.metrics.text(),
    )?.[1] ?? 0,
  );
const connections = () =>
  new Promise<number>((resolve, reject) =>
    t.app.http.server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

async function startExport() {
  const request = get({
    port,
    host: '127.0.0.1',
    path: '/api/v1/compliance/agent-cards',
    headers: { authorization: `Bearer ${token}` },
    agent: false,
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  return { request, response };
}

/** Waits until no page has been read for a second. */
async function settledPages(): Promise<number> {
  for (let before = await pagesRead(); ; ) {
    await sleep(1_000);
    const now = await pagesRead();
    if (now === before) return now;
    before = now;
  }
}

describe('GET /compliance/agent-cards of thousands of agents', () => {
  it('200: pauses while the client does not read, then continues to the end', async () => {
    const before = await pagesRead();
    const { response } = await startExport();
    const whileWaiting = (await settledPages()) - before;
    assert.ok(
      whileWaiting < pages / 2,
      `${whileWaiting} of ${pages} pages are read while the client does not read`,
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    assert.ok(body.length > 30_000_000, `${body.length} bytes`);
    const cards: { did: string; capabilities: string[] }[] = JSON.parse(body.toString());
    // Including the operator.
    assert.equal(new Set(cards.map(({ did }) => did)).size, agents + 1);
    assert.equal(cards[7]?.capabilities.length, capabilities);
    assert.equal((await pagesRead()) - before, pages + 1);
  });

  it('a client that disconnects: reads no further page and releases the connection', async () => {
    const [before, open] = [await pagesRead(), await connections()];
    const { request, response } = await startExport();
    await once(response, 'readable');
    request.destroy();
    await until('it is closed', async () => (await connections()) <= open || undefined);
    assert.ok((await settledPages()) - before < pages / 2);
    await until('nothing is busy', async () => {
      const busy = await t.sql(
        `select from pg_stat_activity where datname = current_database() and state <> 'idle'
           and backend_type = 'client backend' and pid <> pg_backend_pid()`,
      );
      return busy.length === 0 || undefined;
    });
    assert.ok(!t.logs.some((line) => line.includes('"level":50')), t.logs.join(''));
  });
});
