/** The plan of the sequencer's statement does not depend on statistics: they are missing or old after many inserts. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { raw, type Sql } from '../../../kernel/data/sql.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { findUnlinked, forceGenericPlan, readProgress } from './links-store.ts';

const t = await startApp();
const tables = ['audit_events', 'audit_segments'];

/** The plan for any parameters, with counts of rows, of the events since transaction 0. */
const explain = () =>
  t.app.db.transaction(async (tx) => {
    await forceGenericPlan(tx);
    const { next, reached } = await readProgress(tx);
    const after = { appendedIn: '0', timestamp: '-infinity', eventId: nilUuid };
    const plan: string[] = [];
    const explaining = {
      async many(_name: string, { text, values }: Sql) {
        await tx.run('prepare', raw(`prepare planned as ${text}`));
        const parameters = values.map((value) => `'${value}'`).join(', ');
        const query = raw(`explain (analyze, timing off, summary off) execute planned (${parameters})`);
        for (const row of await tx.many<Record<'QUERY PLAN', string>>('explain', query))
          plan.push(row['QUERY PLAN']);
        await tx.run('deallocate', raw('deallocate planned'));
        return [];
      },
    };
    await findUnlinked(explaining as unknown as Tx, after, { before: next, last: undefined, reached }, 4_000);
    return plan.join('\n');
  });

const grow = async (organizations: number, events: number) => {
  for (let number = 0; number < organizations; number += 1) {
    await recordEvents(t, t.app.ids.uuid(), events);
    await t.app.audit.linkAll();
  }
};

it('hashes the linked events, without, with old and with new statistics', async () => {
  const partitions = await t.sql<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = any($1::regclass[])`,
    [tables],
  );
  for (const { name } of partitions) await t.sql(`alter table ${name} set (autovacuum_enabled = off)`);
  const assertHashed = async (state: string) => {
    const plan = await explain();
    assert.match(plan, /hashed SubPlan/, `${state}\n${plan}`);
    assert.doesNotMatch(plan, /Anti Join/, `${state}\n${plan}`);
  };
  await assertHashed('fresh');
  await grow(3, 500);
  await assertHashed('without statistics');
  for (const table of tables) await t.sql(`analyze ${table}`);
  await assertHashed('with new statistics');
  await grow(6, 500);
  await assertHashed('with old statistics');
});
