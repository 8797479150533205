/** Those who work on the same rows: what waits in one place must not be paid for in another, nor two wait for each other. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import pg from 'pg';
import { startReceiver } from '../../../test/receivers.ts';
import { api, startDelivering } from '../../../test/subscribers.ts';
import type { Queryable } from '../../kernel/db.ts';
import type { Sql } from '../../kernel/sql.ts';
import { claimDue } from './queue-store.ts';

const t = await startDelivering();

const session = async () => {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  after(() => client.end());
  return client;
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

describe('a claim', () => {
  /** What a worker with its hands free would ask for, explained with the plan that serves any values. */
  const explainClaim = async (): Promise<number> => {
    const client = await session();
    let read = 0;
    const explaining = {
      async many(_name: string, { text, values }: Sql) {
        await client.query('begin');
        await client.query('set local plan_cache_mode = force_generic_plan');
        await client.query(`prepare claim as ${text}`);
        const { rows } = await client.query(
          `explain (analyze, format json) execute claim(${values.map(literal).join()})`,
        );
        await client.query('deallocate claim');
        await client.query('rollback');
        read = rowsRead(rows[0]['QUERY PLAN'][0].Plan);
        return [];
      },
    } as unknown as Queryable;
    const now = t.clock.now();
    const claim = '0b5a1b0e-0000-4000-8000-000000000001';
    const want = { now, claimedUntil: now + 1_000, claim, room: 400, failingRoom: 100, each: 50, lanes: [] };
    await claimDue(explaining, want);
    return read;
  };

  it('reads nothing of what waits for an inactive receiver, and finds its tests', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    await t.fill(id, 5_000);
    const token = await t.token();
    await t.call('PATCH', `${api}/${id}`, { token, payload: { active: false } });
    await t.sql('analyze webhook_deliveries');
    const before = await explainClaim();
    assert.ok(before < 100, `${before} rows were read`);
    assert.equal((await t.call('POST', `${api}/${id}/test`, { token })).status, 202);
    const read = await explainClaim();
    assert.ok(read < 100, `${read} rows were read`);
    await t.drain();
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['x-service-event']),
      ['webhook.test'],
    );
  });
});
