import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import {
  auditLinks,
  createTamperSession,
  recordEvents,
} from '../../../../test/support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const t = await startApp();
const { audit } = t.app;
const busy = t.app.ids.uuid();
const quiet = t.app.ids.uuid();

const days = async (table: string) =>
  (
    await t.sql<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = '${table}'::regclass order by 1`,
    )
  ).map(({ name }) => name.slice(-8));
const compact = (time: number) => new Date(time).toISOString().slice(0, 10).replaceAll('-', '');
const checked = async (organizationId: string) => {
  const { checked, finding } = await audit.verify(organizationId);
  assert.equal(finding, undefined);
  return checked;
};

describe('retention', () => {
  const first = t.clock.now();

  it('drops nothing while all events are recent', async () => {
    await recordEvents(t, quiet, 3);
    for (let day = 0; day < 3; day += 1) {
      await audit.prepare();
      await recordEvents(t, busy, 5);
      await audit.linkAll();
      await recordEvents(t, busy, 5);
      // Linked on the next day.
      t.clock.advance(dayMs);
    }
    await audit.prepare();
    await audit.linkAll();
    await audit.retain();
    assert.equal(await checked(busy), 30);
    assert.equal((await t.sql('select from audit_anchors')).length, 0);
  });

  it('an error halfway rolls everything back', async () => {
    t.clock.advance(first + 91 * dayMs - t.clock.now());
    await audit.prepare();
    await t.sql(`create function stop() returns trigger language plpgsql as $$ begin raise 'stopped'; end $$;
                 create trigger stop before insert on audit_anchors for each row when (new.number = 1) execute function stop()`);
    const before = await days('audit_events');
    await assert.rejects(audit.retain(), /stopped/);
    await t.sql('drop trigger stop on audit_anchors');
    assert.deepEqual(await days('audit_events'), before);
    assert.equal(await checked(busy), 30);
  });

  it('drops the days past 90 and leaves a signed anchor; the rest verifies', async () => {
    await audit.retain();
    assert.equal((await days('audit_events')).includes(compact(first)), false);
    assert.ok((await days('audit_events')).includes(compact(first + dayMs)));
    assert.equal(await checked(busy), 20);
    assert.equal(await checked(quiet), 0);
    assert.equal((await t.sql('select from audit_anchors where organization_id = $1', [busy])).length, 1);
    await audit.retain();
    assert.equal((await t.sql('select from audit_anchors where organization_id = $1', [busy])).length, 1);
  });

  it('a day later drops the next day, and the evidence of the first', async () => {
    t.clock.advance(dayMs);
    await audit.prepare();
    await audit.retain();
    assert.equal((await days('audit_segments')).includes(compact(first)), false);
    assert.equal(await checked(busy), 10);
    await recordEvents(t, busy, 4);
    await recordEvents(t, quiet, 2);
    assert.equal(await checked(busy), 14);
    assert.equal(await checked(quiet), 2);
  });

  it('a chain without any rows continues where it ended', async () => {
    t.clock.advance(200 * dayMs);
    await audit.prepare();
    await audit.retain();
    assert.equal(await checked(busy), 0);
    await recordEvents(t, busy, 3);
    assert.equal(await checked(busy), 3);
    const [row] = await t.sql<{ first: number }>(
      `select min(sequence)::int as first from ${auditLinks} l where organization_id = $1`,
      [busy],
    );
    assert.equal(row?.first, 35);
  });

  it('false: an attacker dropped a day, or removed or edited an anchor', async () => {
    const tamperSession = await createTamperSession(t);
    const found = async (statement: string) =>
      assert.ok(
        (await tamperSession.verifyAfter(busy, () => tamperSession.run(statement))).finding,
        statement,
      );
    await found(`drop table audit_events_${compact(t.clock.now())}`);
    await found('delete from audit_anchors');
    await found(
      `delete from audit_anchors a where number = (select max(number) from audit_anchors where organization_id = a.organization_id)`,
    );
    await found("update audit_anchors set taken_at = taken_at + interval '1 second'");
    await found(`update audit_anchors set signed = replace(signed, '.', '.e')`);
    assert.equal((await tamperSession.verifyAfter(busy, async () => {})).finding, undefined);
    await tamperSession.close();
  });
});
