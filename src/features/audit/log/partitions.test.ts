import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { record } from '../../../../test/support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const t = await startApp();
const { audit } = t.app;
const organizationId = t.app.ids.uuid();

const intact = async (events: number) =>
  assert.deepEqual((({ checked, finding }) => ({ checked, finding }))(await audit.verify(organizationId)), {
    checked: events,
    finding: undefined,
  });

describe('a day that nobody has made room for', () => {
  it('gets its partition with the first event, ahead or behind', async () => {
    for (const [leap, events] of [
      [30, 2],
      [-60, 4],
      [30, 6],
    ] as const) {
      t.clock.advance(leap * dayMs);
      await record(t, organizationId, 2);
      await intact(events);
    }
  });

  it('gets one with the first link, where the events are of another day', async () => {
    await record(t, organizationId, 2);
    t.clock.advance(30 * dayMs + 15 * dayMs);
    await intact(8);
  });

  it('gets one anew when retention has dropped it, by a clock that was wrong then', async () => {
    await record(t, organizationId, 1);
    await audit.linkAll();
    t.clock.advance(120 * dayMs);
    await audit.retain();
    t.clock.advance(-120 * dayMs);
    await record(t, organizationId, 1);
  });
});
