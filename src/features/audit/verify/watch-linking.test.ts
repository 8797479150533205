import assert from 'node:assert/strict';
import { it } from 'node:test';
import { execute, startApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const t = await startApp({ LOG_LEVEL: 'error' });
const { audit } = t.app;

it('the watch raises no alarm for links that other processes add during its round', async () => {
  let over = false;
  const organizations = Array.from({ length: 10 }, () => t.app.ids.uuid());
  const others = [0, 1].map(async (index) => {
    while (!over) {
      await Promise.all(organizations.map((organizationId) => recordEvents(t, organizationId, 1)));
      // It links all events first.
      await audit.verify(organizations[index] as string);
    }
  });
  for (let round = 0; round < 8; round += 1) await audit.watch();
  over = true;
  await Promise.all(others);
  assert.deepEqual(t.logs, []);
  assert.match(await t.app.metrics.text(), /^service_audit_chain_integrity 1$/m);
});

it('the watch reads new events, and not those that it verified a moment ago', async () => {
  const busy = t.app.ids.uuid();
  for (let second = 0; second < 12; second += 1) {
    await recordEvents(t, busy, 1_000);
    t.clock.advance(1_000);
    await audit.linkAll();
  }
  for (let round = 0; round < 2; round += 1) await audit.watch();
  await recordEvents(t, busy, 1);
  const before = await pagesRead();
  await audit.watch();
  const read = (await pagesRead()) - before;
  // One, and the next part of the old events.
  assert.ok(read >= 1 && read <= 8, `${read} pages of a thousand events`);
  assert.match(await t.app.metrics.text(), /^service_audit_chain_integrity 1$/m);
});

it('the watch verifies every chain that grows, for any number of chains', async () => {
  const organizations = Array.from({ length: 220 }, () => t.app.ids.uuid());
  const grow = () => inTens(organizations, (organizationId) => recordEvents(t, organizationId, 1));
  // Each verifies a hundred chains that grew.
  const threeRounds = async () => {
    for (let round = 0; round < 3; round += 1) {
      await audit.watch();
      t.clock.advance(15_000);
    }
  };
  await grow();
  await threeRounds();
  await grow();
  await audit.linkAll();
  await execute(
    t.databaseUrl,
    `set session_replication_role = replica;
     update audit_events set user_agent = 'edited' where (organization_id, event_id) in
       (select organization_id, event_id from ${auditLinks} l where sequence = 2
        and organization_id in (${organizations.map((id) => `'${id}'`).join()}))`,
  );
  await threeRounds();
  const logged = t.logs.join();
  assert.deepEqual(
    organizations.filter((id) => !logged.includes(id)),
    [],
  );
});

async function inTens<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += 10) await Promise.all(all.slice(at, at + 10).map(work));
}

async function pagesRead(): Promise<number> {
  const counted = /^service_db_query_duration_seconds_count{operation="audit.events.bundle"} (\d+)$/m;
  return Number(counted.exec(await t.app.metrics.text())?.[1] ?? 0);
}
