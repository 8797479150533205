import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../data/db.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { createLoops } from './loops.ts';

const log = createLog({ level: 'silent' });

describe('loops', () => {
  it('run repeatedly, also after a failed round', async () => {
    let rounds = 0;
    const run = async () => {
      rounds += 1;
      if (rounds === 2) throw new Error('failed round');
    };
    const loops = createLoops([{ name: 'steady', everyMs: 5, run }], log);
    loops.start();
    while (rounds < 4) await sleep(5);
    await loops.stop();
    const atStop = rounds;
    await sleep(40);
    assert.equal(rounds, atStop, 'nothing runs after stop');
  });
  it('that purge are skipped while the clock-skew guard forbids it; the others run', async () => {
    let isAllowed = false;
    const metrics = createMetrics();
    const rounds = { steady: 0, purging: 0 };
    const count = (name: keyof typeof rounds) => async () => {
      rounds[name] += 1;
    };
    const loops = createLoops(
      [
        { name: 'steady', everyMs: 1, run: count('steady') },
        { name: 'purging', everyMs: 1, purges: true, run: count('purging') },
      ],
      log,
      { mayPurge: async () => isAllowed, metrics },
    );
    loops.start();
    while (rounds.steady < 5) await sleep(1);
    assert.equal(rounds.purging, 0);
    while (!/loop="purging",outcome="skipped"} [1-9]/.test(await metrics.text())) await sleep(1);
    assert.match(await metrics.text(), /loop="purging",outcome="ok"} 0$/m);
    assert.doesNotMatch(await metrics.text(), /loop="steady",outcome="skipped"/);
    isAllowed = true;
    while (rounds.purging < 2) await sleep(1);
    await loops.stop();
    assert.match(await metrics.text(), new RegExp(`loop="purging",outcome="ok"} ${rounds.purging}$`, 'm'));
  });
  it('log once that the database is unavailable, and again at the next outage', async () => {
    const lines: { msg: string; reason?: string; loop?: string }[] = [];
    const recording = createLog({
      level: 'info',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    let rounds = 0;
    const run = async () => {
      rounds += 1;
      if (rounds <= 5 || rounds === 7) throw new DatabaseUnavailable(new Error('no route'));
    };
    const loops = createLoops([{ name: 'needs-database', everyMs: 1, run }], recording);
    loops.start();
    while (rounds < 10) await sleep(1);
    await loops.stop();
    assert.deepEqual(
      lines.map(({ msg, loop, reason }) => [msg, loop, reason]),
      Array.from({ length: 2 }, () => [
        'background loop postponed',
        'needs-database',
        'cannot use the database: no route',
      ]),
    );
  });
  it('log a longer outage again after `remindMs`', async () => {
    const lines: string[] = [];
    const recording = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
    const run = () => Promise.reject(new DatabaseUnavailable(new Error('no route')));
    const loops = createLoops([{ name: 'needs-database', everyMs: 1, run }], recording, { remindMs: 5 });
    loops.start();
    while (lines.length < 3) await sleep(1);
    await loops.stop();
  });
  it('stop aborts the signal and waits for the running round', async () => {
    const seen: string[] = [];
    const run = async (signal: AbortSignal) => {
      seen.push('begun');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await sleep(20);
      seen.push('finished');
    };
    const loops = createLoops([{ name: 'long', everyMs: 1, run }], log);
    loops.start();
    await sleep(10);
    await loops.stop();
    assert.deepEqual(seen, ['begun', 'finished']);
  });
  it("start('inEveryProcess') starts only the loops that every process needs", async () => {
    const ran: string[] = [];
    const loop = (name: string, inEveryProcess: boolean) => ({
      name,
      inEveryProcess,
      everyMs: 5,
      run: async () => void ran.push(name),
    });
    const loops = createLoops([loop('needed', true), loop('elsewhere', false)], log);
    loops.start('inEveryProcess');
    while (ran.length < 3) await sleep(5);
    await loops.stop();
    assert.deepEqual([...new Set(ran)], ['needed']);
  });
  it('call `begin` once, can be woken early, and call its result after the last round', async () => {
    const seen: string[] = [];
    let wake = () => {};
    const loop = {
      name: 'woken',
      everyMs: 60_000,
      run: async () => void seen.push('round'),
      begin(given: () => void) {
        seen.push('begun');
        wake = given;
        return async () => void seen.push('ended');
      },
    };
    const loops = createLoops([loop], log);
    loops.start();
    for (let count = 2; count <= 4; count += 1) {
      wake();
      while (seen.length <= count) await sleep(1);
    }
    await loops.stop();
    assert.equal(seen[0], 'begun');
    assert.equal(seen.at(-1), 'ended');
    assert.ok(seen.filter((entry) => entry === 'round').length >= 3, seen.join());
  });
  it('stop works without start, and twice', async () => {
    const loops = createLoops([{ name: 'idle', everyMs: 1, run: async () => {} }], log);
    await loops.stop();
    await loops.stop();
  });
});
