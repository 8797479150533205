import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import { type Answer, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { createTenant } from '../../../../test/support/scenarios/plans.ts';

const t = await startApp({ DATABASE_POOL_SIZE: '5', RATE_LIMIT_PER_MINUTE: '1000' });

const listening = t.app.http.server.listen({ host: '127.0.0.1', port: 0 });

/** An organization with this many agents; returns a token of each. */
async function tenant(agents: number): Promise<string[]> {
  const { organizationId, token } = await createTenant(t, { planTier: 'pro' });
  const tokens = [token];
  while (tokens.length < agents)
    tokens.push(await t.token(undefined, await t.agent({ organization_id: organizationId })));
  return tokens;
}

const subscribe = async (token: string): Promise<string> => {
  const payload = { name: 'Receiver', url: 'https://receiver.invalid/', events: ['agent.created'] };
  const { status, json, text } = await t.call('POST', '/api/v1/webhooks', { token, payload });
  assert.equal(status, 201, text);
  return json.id;
};

/** Runs the work while the table is locked: its queries on the table wait for the end. */
async function whileLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    return await work();
  } finally {
    await client.end();
  }
}

const statuses = async (answers: readonly Promise<Answer>[]) =>
  new Set((await Promise.all(answers)).map(({ status }) => status));

describe('an organization with many requests for its log and figures', () => {
  const requests: [string, string, string][] = [
    ['verifies it', 'audit_segments', '/api/v1/audit/verify'],
    ['reads its chain', 'audit_segments', '/api/v1/audit/chain?after=0'],
    ['lists it', 'audit_events', '/api/v1/audit?limit=200'],
    ['searches it', 'audit_events', '/api/v1/audit?reason=wrong'],
    ['reads its overview', 'audit_events', '/api/v1/overview'],
    ['lists its checkpoints', 'audit_segments', '/api/v1/audit/checkpoints'],
    ['reads its compliance report', 'badge_checks', '/api/v1/compliance/report'],
    ['lists its deliveries', 'webhook_deliveries', '/api/v1/webhooks/{webhook}/deliveries'],
    ['counts its deliveries', 'webhook_deliveries', '/api/v1/webhooks/{webhook}/deliveries/counts'],
  ];
  for (const [what, table, path] of requests) {
    it(`${what} up to its limit: other organizations are served in the meantime, and then all requests succeed`, async () => {
      const tokens = await tenant(4);
      const [other = ''] = await tenant(1);
      const url = path.includes('{webhook}')
        ? path.replace('{webhook}', await subscribe(tokens[0] ?? ''))
        : path;
      const pending = await whileLocked(table, async () => {
        const answers = Array.from({ length: 28 }, (_, index) =>
          t.call('GET', url, { token: tokens[index % tokens.length] ?? '' }),
        );
        // More than the pool has: a request that waits for a connection would wait for the lock.
        for (let each = 0; each < 10; each += 1)
          assert.equal((await t.call('GET', '/api/v1/agents', { token: other })).status, 200);
        return answers;
      });
      assert.deepEqual(await statuses(pending), new Set([200]));
    });
  }

  /** Usage and analytics write their pending counts first, one writer at a time. So a lock of their tables does not show the queue. */
  it('has its heavy reads in one queue: every read whose cost grows with the data of an organization', () => {
    const costs = t.app.routes
      .filter(({ cost }) => cost !== undefined)
      .map(({ id, cost }) => `${id}: ${typeof cost === 'function' ? 'by query' : cost}`);
    assert.deepEqual(costs.sort(), [
      'countWebhookDeliveries: heavy',
      'exportAgentCards: heavy',
      'exportUsage: heavy',
      'getActivityAnalytics: heavy',
      'getAgentAnalytics: heavy',
      'getApprovalAnalytics: heavy',
      'getAuditChain: long',
      'getComplianceReport: heavy',
      'getOverview: heavy',
      'getTokenAnalytics: heavy',
      'getUsage: heavy',
      'listAgents: by query',
      'listAuditCheckpoints: heavy',
      'listAuditEvents: heavy',
      'listUsageByAgent: heavy',
      'listWebhookDeliveries: heavy',
      'verifyAudit: long',
    ]);
  });

  it('429 RATE_LIMIT_EXCEEDED for the 31st verification of an organization in a minute, by any of its agents', async () => {
    const tokens = await tenant(2);
    const verify = (index: number) =>
      t.call('GET', '/api/v1/audit/verify', { token: tokens[index % 2] ?? '' });
    startOfMinute(t.clock);
    const answers: Answer[] = [];
    for (let index = 0; index < 31; index += 1) answers.push(await verify(index));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...Array<number>(30).fill(200), 429],
    );
    assert.equal(answers.at(-1)?.json.code, 'RATE_LIMIT_EXCEEDED');
    const [otherToken = ''] = await tenant(1);
    assert.equal((await t.call('GET', '/api/v1/audit/verify', { token: otherToken })).status, 200);
  });

  for (const [what, table, url] of [
    ['verification', 'audit_anchors', '/api/v1/audit/verify'],
    ['page of the chain', 'audit_anchors', '/api/v1/audit/chain?after=0'],
    ['search for agents', 'agents', '/api/v1/agents?q=a'],
  ] as const)
    it(`has its turn sooner when the client of a ${what} that waits has gone`, async () => {
      const [token = ''] = await tenant(1);
      const address = await listening;
      const send = (signal?: AbortSignal) =>
        fetch(`${address}${url}`, { headers: { authorization: `Bearer ${token}` }, signal: signal ?? null });
      const waiting = (count: number) =>
        until(`${count} wait`, async () => {
          const depths = (await t.app.metrics.text()).matchAll(/^service_queue_depth\{.*_reads"\} (\d+)$/gm);
          return [...depths].reduce((sum, [, depth]) => sum + Number(depth), 0) === count || undefined;
        });
      // The status of the token is cached: the guard needs no locked table.
      t.clock.advance(61_000);
      assert.equal((await send()).status, 200);
      const first = await whileLocked(table, async () => {
        const running = send();
        await until('the first one runs', async () => {
          const [locks] = await t.sql<{ count: number }>(
            `select count(*)::int as count from pg_locks l join pg_database d on d.oid = l.database
             where d.datname = current_database() and l.relation = $1::regclass and not l.granted`,
            [table],
          );
          return (locks && locks.count > 0) || undefined;
        });
        const gone = Array.from({ length: 3 }, () => new AbortController());
        const answers = gone.map(({ signal }) => send(signal).catch(() => 'aborted'));
        await waiting(3);
        for (const each of gone) each.abort();
        assert.deepEqual(await Promise.all(answers), ['aborted', 'aborted', 'aborted']);
        await waiting(0);
        return { running };
      });
      assert.equal((await first.running).status, 200);
    });
});
