/** Retention of an instance with an archive: a day is dropped when its file is there, and not before. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import {
  dayMs,
  dayOf,
  failing,
  openArchivingNode,
  openFaultyFolder,
  toNextDay,
} from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { limits } from '../../../contract/limits.ts';
import { fileName, manifestName } from './names.ts';

const t = await startApp();
const folder = openFaultyFolder();
const [one, two] = [t.app.ids.uuid(), t.app.ids.uuid()].sort() as [string, string];

const days = async () =>
  (
    await t.sql<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_events'::regclass order by 1`,
    )
  ).map(({ name }) => name.slice(-8).replace(/(....)(..)(..)/, '$1-$2-$3'));
const has = async (day: string) => (await days()).includes(day);

/** Some days with events, and then so far that the first `expired` of them are past retention. */
async function pass(count: number, expired: number): Promise<string[]> {
  const passed: string[] = [];
  for (let day = 0; day < count; day += 1) {
    toNextDay(t);
    await t.app.audit.prepare();
    passed.push(dayOf(t.clock.now()));
    for (const organizationId of [one, two]) await recordEvents(t, organizationId, 3);
    await t.app.audit.linkAll();
  }
  const end = Date.parse(passed[expired - 1] as string) + (limits.auditRetentionDays + 1) * dayMs + 3_600_000;
  t.clock.advance(end - t.clock.now());
  await t.app.audit.prepare();
  return passed;
}

describe('retention with an archive', () => {
  it('keeps a day until it and the days after it are archived for all organizations', async () => {
    const node = await openArchivingNode(t, folder.storage);
    const passed = await pass(12, 10);
    const [first, second, third] = passed as [string, string, string];
    await node.audit.retain();
    assert.ok(await has(first));
    assert.match(
      String(node.alarms()[0]?.msg),
      /past retention stay in the database, because they are not archived/,
    );
    assert.equal(await node.metric('service_audit_archive_failures_total{cause="retention"}'), 1);

    // One organization of one day cannot be archived: events of the days before may be linked in it.
    const failed = passed[9] as string;
    const missing = fileName({ organizationId: two, day: failed });
    folder.setFaults({
      beforeCreate(name) {
        if (name === missing) throw failing('file:///archive: writing failed: the disk is full (ENOSPC)');
      },
    });
    const result = await node.archiving.round();
    assert.ok(result !== 'busy' && result.failed === 1);
    await node.audit.retain();
    assert.deepEqual([await has(first), await has(second), await has(third)], [false, false, true]);
    // Once per reason.
    await node.audit.retain();
    const kept = node.alarms().filter(({ msg }) => String(msg).includes('past retention'));
    assert.equal(kept.length, 2);
    assert.match(
      String(kept[1]?.reason),
      new RegExp(`the day ${failed} is not archived for all organizations`),
    );

    folder.setFaults({});
    t.clock.advance(3_600_000);
    await node.archiving.round();
    await node.audit.retain();
    assert.deepEqual([await has(failed), await has(passed[10] as string)], [false, true]);
    assert.equal((await t.app.audit.verify(two)).finding, undefined);
    const names = await folder.names();
    for (const organizationId of [one, two])
      for (const day of passed) assert.ok(names.includes(fileName({ organizationId, day })), day);
  });

  it('keeps events that were not linked for long, and then until the file with their links is there', async () => {
    const node = await openArchivingNode(t, folder.storage);
    toNextDay(t);
    await t.app.audit.prepare();
    // Nothing is linked while the newest tree head is damaged.
    const damage = (from: string, to: string) =>
      t.sql(
        `set session_replication_role = replica;
         update audit_tree_heads set signed = regexp_replace(signed, '${from}', '${to}')
         where number = (select max(number) from audit_tree_heads)`,
      );
    await damage('^e', 'x');
    const day = dayOf(t.clock.now());
    await recordEvents(t, one, 3);
    t.clock.advance((limits.auditRetentionDays + 2) * dayMs);
    await t.app.audit.prepare();
    await node.audit.retain();
    assert.ok(await has(day));
    assert.match(String(node.alarms().at(-1)?.reason), /have no link, so no file has them/);
    await damage('^x', 'e');
    await t.app.audit.linkAll();
    const linkedOn = dayOf(t.clock.now());
    await node.audit.retain();
    assert.ok(await has(day));
    assert.match(String(node.alarms().at(-1)?.reason), /were linked late/);
    t.clock.advance(2 * dayMs);
    await t.app.audit.prepare();
    await node.audit.retain();
    assert.ok(await has(day));
    await node.archiving.round();
    await node.audit.retain();
    assert.equal(await has(day), false);
    assert.ok((await folder.names()).includes(fileName({ organizationId: one, day: linkedOn })));
  });

  it('archives a day again whose row is gone, before it drops the day', async () => {
    const node = await openArchivingNode(t, folder.storage);
    const [first] = (await pass(3, 1)) as [string, string, string];
    await node.archiving.round();
    await t.sql('delete from audit_archives where day = $1 and organization_id = $2', [first, one]);
    for (const name of [fileName, manifestName])
      rmSync(folder.pathOf(name({ organizationId: one, day: first })));
    await node.audit.retain();
    assert.ok(await has(first));
    await node.archiving.round();
    await node.audit.retain();
    assert.deepEqual(
      [await has(first), (await folder.names()).includes(fileName({ organizationId: one, day: first }))],
      [false, true],
    );
  });

  it('drops without an archive as ever; an archive that comes later begins with what is left', async () => {
    const passed = await pass(4, 2);
    await t.app.audit.retain();
    const [first, second, third] = passed as [string, string, string, string];
    assert.deepEqual([await has(first), await has(second), await has(third)], [false, false, true]);
    const later = openFaultyFolder();
    const node = await openArchivingNode(t, later.storage);
    await t.sql('delete from audit_archives');
    const result = await node.archiving.round();
    assert.ok(result !== 'busy' && result.failed === 0, JSON.stringify(node.alarms()));
    const names = await later.names();
    assert.deepEqual(
      [second, third].map((day) => names.includes(fileName({ organizationId: one, day }))),
      [false, true],
    );
    assert.equal(await node.archiving.oldestPendingMs(), 0);
    t.clock.advance(dayMs);
    await node.audit.retain();
    assert.equal(await has(third), false);
  });
});
