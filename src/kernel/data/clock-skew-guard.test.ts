import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createLog } from '../observability/log.ts';
import { createClockSkewGuard } from './clock-skew-guard.ts';

const t = await startApp();
const lines: { msg: string; machineTime: string; databaseTime: string }[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
const mayPurge = (aheadMs: number) =>
  createClockSkewGuard({ db: t.app.db, clock: { now: () => Date.now() + aheadMs }, log })();

describe('clock-skew guard', () => {
  it('permits a purge unless the clock of this machine is far ahead, and then logs both times', async () => {
    for (const ahead of [0, 60_000, -100 * 86_400_000]) assert.equal(await mayPurge(ahead), true);
    assert.equal(lines.length, 0);
    assert.equal(await mayPurge(100 * 86_400_000), false);
    assert.match(lines[0]?.msg ?? '', /clock is ahead of the database's/);
    assert.ok(
      Date.parse(lines[0]?.machineTime ?? '') - Date.parse(lines[0]?.databaseTime ?? '') > 99 * 86_400_000,
    );
  });
});
