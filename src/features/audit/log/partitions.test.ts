import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const t = await startApp();
const { audit } = t.app;
const organizationId = t.app.ids.uuid();

const intact = async (events: number) =>
  assert.deepEqual((({ checked, finding }) => ({ checked, finding }))(await audit.verify(organizationId)), {
    checked: events,
    finding: undefined,
  });

describe('a day without a partition', () => {
  it('gets one with the first event, in the future or the past', async () => {
    for (const [days, events] of [
      [30, 2],
      [-60, 4],
      [30, 6],
    ] as const) {
      t.clock.advance(days * dayMs);
      await recordEvents(t, organizationId, 2);
      await intact(events);
    }
  });

  it('gets one with the first link, when the events are of another day', async () => {
    await recordEvents(t, organizationId, 2);
    t.clock.advance(30 * dayMs + 15 * dayMs);
    await intact(8);
  });

  it('gets a new one after retention dropped it because of a wrong clock', async () => {
    await recordEvents(t, organizationId, 1);
    await audit.linkAll();
    t.clock.advance(120 * dayMs);
    await audit.retain();
    t.clock.advance(-120 * dayMs);
    await recordEvents(t, organizationId, 1);
  });
});
