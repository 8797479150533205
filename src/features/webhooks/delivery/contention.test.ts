/** Concurrent work on the same rows: the cost of a lease, fairness between organizations and endpoints, no deadlocks. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import pg from 'pg';
import { startReceiver } from '../../../../test/support/peers/receivers.ts';
import { createMatrixFixture } from '../../../../test/support/principals.ts';
import { until } from '../../../../test/support/programs.ts';
import { api, startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import type { Sql } from '../../../kernel/data/sql.ts';
import { leaseDue } from './lease-store.ts';

const t = await startWebhookApp({ WEBHOOK_WORKER_CONCURRENCY: '1' });
const { agentIn } = await createMatrixFixture(t);
const url = 'https://receiver.invalid/';

const makeOrganization = async (): Promise<string> => {
  const payload = { name: 'Team', slug: `team-${randomUUID()}`, planTier: 'pro' };
  return (await t.call('POST', '/api/v1/organizations', { token: await t.token(), payload })).json
    .organizationId;
};

const session = async () => {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  after(() => client.end());
  return client;
};

/** Until another session waits for a lock that this one holds. */
const untilWaitedFor = async (client: pg.Client) => {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  // On a separate connection: within a transaction pg_stat_activity is a snapshot.
  const waiting = 'select from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))';
  await until('it is waited for', async () => (await t.sql(waiting, [rows[0].pid])).length > 0 || undefined);
};

interface PlanNode {
  readonly Plans?: readonly PlanNode[];
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
}

/** Rows that any part of the plan has looked at. */
const rowsRead = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
  (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0);

const literal = (value: unknown) => pg.escapeLiteral(Array.isArray(value) ? `{${value}}` : String(value));

describe('a lease', () => {
  /** Rows read by the lease of an idle worker, with the generic plan. */
  const explainLease = async (): Promise<number> => {
    const client = await session();
    let read = 0;
    const explaining = {
      async many(_name: string, { text, values }: Sql) {
        await client.query('begin');
        await client.query('set local plan_cache_mode = force_generic_plan');
        await client.query(`prepare lease as ${text}`);
        const { rows } = await client.query(
          `explain (analyze, format json) execute lease(${values.map(literal).join()})`,
        );
        await client.query('deallocate lease');
        await client.query('rollback');
        read = rowsRead(rows[0]['QUERY PLAN'][0].Plan);
        return [];
      },
    } as unknown as Queryable;
    const now = t.clock.now();
    const leaseId = '0b5a1b0e-0000-4000-8000-000000000001';
    const capacity = {
      capacity: 400,
      failingCapacity: 100,
      perEndpoint: 50,
      perOrganization: 100,
      failingPerOrganization: 25,
    };
    const request = {
      now,
      leaseExpiresAt: now + 1_000,
      leaseId,
      ...capacity,
      endpoints: [],
      organizations: [],
    };
    await leaseDue(explaining, request);
    return read;
  };

  it('does not read the backlog of an inactive endpoint, and finds its test deliveries', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    await t.insertDeliveries(id, 5_000);
    const token = await t.token();
    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: false } });
    await t.sql('analyze webhook_deliveries');
    const before = await explainLease();
    assert.ok(before < 100, `${before} rows were read`);
    assert.equal((await t.call('POST', `${api}/${id}/test`, { token })).status, 202);
    const read = await explainLease();
    assert.ok(read < 100, `${read} rows were read`);
    await t.drain();
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['x-service-event']),
      ['webhook.test'],
    );
  });
});

describe('a leased delivery that waited for its turn', () => {
  it('is not sent when its lease could expire during the send; another lease sends it', async () => {
    const answered = Promise.withResolvers<void>();
    const receiver = await startReceiver(async (_request, response) => {
      await answered.promise;
      response.writeHead(204).end();
    });
    const { id } = await t.subscribe(receiver.url);
    await t.insertDeliveries(id, 2);
    const draining = t.drain();
    await until('the first is sent', async () => receiver.received.length > 0 || undefined);
    t.clock.advance(8_000);
    answered.resolve();
    await draining;
    assert.equal(receiver.received.length, 1);
    t.clock.advance(60_000);
    await t.drain();
    assert.equal(receiver.received.length, 2);
  });
});

describe('a lease from many endpoints', () => {
  const lease = async (limits: {
    failingCapacity: number;
    perOrganization: number;
    failingPerOrganization?: number;
  }) => {
    const now = t.clock.now();
    const own = { endpoints: [], organizations: [] };
    const base = {
      now,
      leaseExpiresAt: now - 1,
      leaseId: randomUUID(),
      capacity: 400,
      perEndpoint: 50,
      ...own,
    };
    return leaseDue(t.app.db, { ...base, failingPerOrganization: 25, ...limits });
  };
  const makeSubscription = async (organizationId: string, failures = 0) => {
    const [row] = await t.sql<{ id: string }>(
      `insert into webhook_subscriptions (subscription_id, organization_id, name, url, events, active, signing_secret,
         failure_count, created_at, updated_at)
       values (gen_random_uuid(), $1, 'Many', $2, '{agent.created}', true, '', $3, now(), now())
       returning subscription_id as id`,
      [organizationId, url, failures],
    );
    return row?.id as string;
  };

  it('leaves capacity for other organizations, however many endpoints one organization has', async () => {
    const [many, few] = [await makeOrganization(), await makeOrganization()];
    for (let receiver = 0; receiver < 5; receiver += 1)
      await t.insertDeliveries(await makeSubscription(many), 20);
    await t.insertDeliveries(await makeSubscription(few), 2);
    const jobs = await lease({ failingCapacity: 0, perOrganization: 10 });
    const of = (id: string) => jobs.filter(({ organizationId }) => organizationId === id).length;
    assert.deepEqual([of(many), of(few)], [10, 2]);
    await t.sql('delete from webhook_deliveries');
  });

  it('leaves retries for other organizations, however many failing endpoints one organization has', async () => {
    const [many, few] = [await makeOrganization(), await makeOrganization()];
    for (let receiver = 0; receiver < 5; receiver += 1)
      await t.insertDeliveries(await makeSubscription(many, 1), 1);
    t.clock.advance(60_000);
    await t.insertDeliveries(await makeSubscription(few, 9), 1);
    const of = async (limits: Parameters<typeof lease>[0]) => {
      const jobs = await lease(limits);
      return [many, few].map((id) => jobs.filter(({ organizationId }) => organizationId === id).length);
    };
    assert.deepEqual(
      await of({ failingCapacity: 100, perOrganization: 100, failingPerOrganization: 3 }),
      [3, 1],
    );
    assert.deepEqual(await of({ failingCapacity: 2, perOrganization: 100 }), [1, 1]);
    await t.sql('delete from webhook_deliveries');
  });

  it('prefers the failing endpoint with the fewest failures to the one with the oldest backlog', async () => {
    const organizationId = await makeOrganization();
    const longFailing = [
      await makeSubscription(organizationId, 9),
      await makeSubscription(organizationId, 7),
    ];
    for (const id of longFailing) await t.insertDeliveries(id, 3);
    t.clock.advance(60_000);
    const recent = await makeSubscription(organizationId, 1);
    await t.insertDeliveries(recent, 1);
    const jobs = await lease({ failingCapacity: 1, perOrganization: 100 });
    assert.deepEqual(
      jobs.map(({ subscriptionId }) => subscriptionId),
      [recent],
    );
    await t.sql('delete from webhook_deliveries');
  });
});

describe('an organization that is suspended', () => {
  it('200 while a worker records results for several of its endpoints: no deadlock', async () => {
    const organizationId = await makeOrganization();
    // In the order of creation the later id comes first.
    const [later, earlier] = ['f0000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000000'];
    for (const [index, id] of [later, earlier].entries())
      await t.sql(
        `insert into webhook_subscriptions
           (subscription_id, organization_id, name, url, events, active, signing_secret, created_at, updated_at)
         values ($1, $2, 'Ours', $3, '{}', true, '', $4, $4)`,
        [id, organizationId, url, `2020-01-0${index + 1}`],
      );
    const worker = await session();
    const lockRow = (id: string | undefined) =>
      worker.query('select 1 from webhook_subscriptions where subscription_id = $1 for no key update', [id]);
    await worker.query('begin');
    await lockRow(earlier);
    const suspended = t.call('PATCH', `/api/v1/organizations/${organizationId}`, {
      token: await t.token(),
      payload: { status: 'suspended' },
    });
    await untilWaitedFor(worker);
    await lockRow(later);
    await worker.query('commit');
    assert.equal((await suspended).status, 200);
    assert.deepEqual(
      await t.sql('select distinct halted from webhook_subscriptions where organization_id = $1', [
        organizationId,
      ]),
      [{ halted: true }],
    );
  });

  /** Changes the organization after the request is authenticated and before it inserts the subscription. */
  const subscribeWhile = async (status: string) => {
    const organizationId = await makeOrganization();
    const { token } = await agentIn(organizationId, ['webhooks:write']);
    const other = await session();
    await other.query('begin');
    await other.query('update organizations set status = $2 where organization_id = $1', [
      organizationId,
      status,
    ]);
    const payload = { name: 'Ours', url, events: ['*'] };
    const subscribed = t.call('POST', api, { token, payload });
    await untilWaitedFor(other);
    await other.query('commit');
    const rows = async () =>
      t.sql('select halted from webhook_subscriptions where organization_id = $1', [organizationId]);
    return { ...(await subscribed), rows: await rows() };
  };

  it('201 for a concurrent new subscription, and nothing is sent to it', async () => {
    const { status, rows } = await subscribeWhile('suspended');
    assert.deepEqual([status, rows], [201, [{ halted: true }]]);
    assert.deepEqual((await subscribeWhile('active')).rows, [{ halted: false }]);
  });

  it('404 ORG_NOT_FOUND for a new subscription while it is being deleted', async () => {
    const { status, json, rows } = await subscribeWhile('deleted');
    assert.deepEqual([status, json.code, rows], [404, 'ORG_NOT_FOUND', []]);
  });
});
