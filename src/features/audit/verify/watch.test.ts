import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { execute, startApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const t = await startApp({ LOG_LEVEL: 'error' });
const { audit } = t.app;
const first = t.app.ids.uuid();
const second = t.app.ids.uuid();

const gauge = async () => /^service_audit_chain_integrity (\d)$/m.exec(await t.app.metrics.text())?.[1];
const alarms = () => t.logs.filter((line) => line.includes('THE AUDIT LOG IS NOT INTACT')).length;
const asIntruder = (text: string, values: unknown[]) =>
  execute(t.databaseUrl, `set session_replication_role = replica; ${fill(text, values)}`);
const fill = (text: string, values: unknown[]) => text.replace(/\$(\d)/g, (_, n) => `'${values[n - 1]}'`);

/** Enough rounds to verify every chain. */
const rounds = async (count = 8) => {
  for (let round = 0; round < count; round += 1) await audit.watch();
};

describe('the gauge', () => {
  it('is 1 for an intact log, and stays so', async () => {
    for (let pass = 0; pass < 4; pass += 1) {
      for (const organizationId of [first, second]) await recordEvents(t, organizationId, 10);
      await audit.watch();
      assert.equal(await gauge(), '1');
    }
    await rounds();
    assert.equal(await gauge(), '1');
    assert.equal(alarms(), 0);
  });

  it('is 1 while events are written between one round and the next', async () => {
    let over = false;
    const writing = Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let n = 0; n < 300 && !over; n += 1) await recordEvents(t, first, 1);
      }),
    );
    const found: unknown[] = [];
    for (let round = 0; round < 15; round += 1) {
      found.push((await audit.verify(first)).finding);
      await audit.watch();
    }
    over = true;
    await writing;
    assert.deepEqual(
      found.filter((finding) => finding !== undefined),
      [],
    );
    assert.equal(await gauge(), '1');
    assert.equal(alarms(), 0);
  });

  it('is 0 after an edit of events of unknown clients', async () => {
    const unknown = '00000000-0000-0000-0000-000000000000';
    await recordEvents(t, unknown, 3);
    await rounds();
    assert.equal(await gauge(), '1');
    const set = (value: string) =>
      asIntruder(`update audit_events set user_agent = ${value} where organization_id = $1`, [unknown]);
    t.clock.advance(3_600_000);
    await set("user_agent || '!'");
    await rounds(12);
    assert.equal(await gauge(), '0');
    await set('left(user_agent, -1)');
    const answer = await t.call('GET', `/api/v1/audit/verify?organizationId=${unknown}`, {
      token: await t.token(),
    });
    assert.equal(answer.json.verified, true);
    assert.equal(await gauge(), '1');
    t.logs.length = 0;

    const reader = await t.token(undefined, await t.agent({ allowedScopes: ['audit:read'] }));
    for (const route of ['verify', 'checkpoints']) {
      const foreign = await t.call('GET', `/api/v1/audit/${route}?organizationId=${unknown}`, {
        token: reader,
      });
      assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
    }
  });

  it('is 0 after an edit of an old event, with one alarm in the log', async () => {
    t.clock.advance(3_600_000);
    const set = (value: string) =>
      asIntruder(
        `update audit_events set user_agent = ${value} where event_id =
           (select event_id from ${auditLinks} l where organization_id = $1 and sequence = 4)`,
        [second],
      );
    await set("user_agent || '!'");
    await rounds();
    assert.equal(await gauge(), '0');
    assert.equal(alarms(), 1);
    await rounds();
    assert.equal(alarms(), 1);

    await set('left(user_agent, -1)');
    assert.equal((await audit.verify(second)).finding, undefined);
    assert.equal(await gauge(), '1');
  });

  it('is 0 after a row was inserted that the service did not write', async () => {
    await asIntruder(
      `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical)
       select gen_random_uuid(), organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical
       from audit_events where organization_id = $1 limit 1`,
      [first],
    );
    await audit.watch();
    assert.equal(await gauge(), '0');
    await asIntruder('delete from audit_events where organization_id = $1 and seal is null', [first]);
    assert.equal((await audit.verify(first)).finding, undefined);
    assert.equal(await gauge(), '1');
  });

  it('is 0 after an event was inserted again, with its own id and another time', async () => {
    await asIntruder(
      `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical, seal)
       select event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at + interval '7 microseconds', canonical, seal
       from audit_events where organization_id = $1 limit 1`,
      [first],
    );
    await rounds(12);
    assert.equal(await gauge(), '0');
    await asIntruder(
      "delete from audit_events where organization_id = $1 and occurred_at <> date_trunc('milliseconds', occurred_at)",
      [first],
    );
    assert.equal((await audit.verify(first)).finding, undefined);
    assert.equal(await gauge(), '1');
  });

  it('is 0 after a chain was truncated together with its checkpoint', async () => {
    await asIntruder(
      `delete from audit_events where event_id in (select event_id from ${auditLinks} l where organization_id = $1 and sequence > 30);
       delete from audit_segments where organization_id = $1 and size > 30`,
      [second],
    );
    await audit.watch();
    assert.equal(await gauge(), '0');
  });
});
