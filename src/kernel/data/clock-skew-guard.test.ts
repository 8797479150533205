import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createLog } from '../observability/log.ts';
import { createClockSkewGuard } from './clock-skew-guard.ts';

const t = await startApp();
const lines: { msg: string; ours: string; databases: string }[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
const believed = (aheadMs: number) =>
  createClockSkewGuard({ db: t.app.db, clock: { now: () => Date.now() + aheadMs }, log })();

describe('a second clock', () => {
  it('is asked before anything is taken away: ours is believed unless it is well ahead', async () => {
    for (const ahead of [0, 60_000, -100 * 86_400_000]) assert.equal(await believed(ahead), true);
    assert.equal(lines.length, 0);
    assert.equal(await believed(100 * 86_400_000), false);
    assert.match(lines[0]?.msg ?? '', /clock .* is ahead of the database's/);
    assert.ok(Date.parse(lines[0]?.ours ?? '') - Date.parse(lines[0]?.databases ?? '') > 99 * 86_400_000);
  });
});
