import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from '../data/db.ts';
import { createLog } from '../observability/log.ts';
import { createLoops } from './loops.ts';

const log = createLog({ level: 'silent' });

describe('loops', () => {
  it('run again and again, surviving a failed round', async () => {
    let rounds = 0;
    const run = async () => {
      rounds += 1;
      if (rounds === 2) throw new Error('a bad round');
    };
    const loops = createLoops([{ name: 'steady', everyMs: 5, run }], log);
    loops.start();
    while (rounds < 4) await sleep(5);
    await loops.stop();
    const atStop = rounds;
    await sleep(40);
    assert.equal(rounds, atStop, 'nothing runs after stop');
  });
  it('that forget are left out while the clock is not to be believed; the others go on', async () => {
    let believed = false;
    const rounds = { steady: 0, forgetful: 0 };
    const count = (name: keyof typeof rounds) => async () => {
      rounds[name] += 1;
    };
    const loops = createLoops(
      [
        { name: 'steady', everyMs: 1, run: count('steady') },
        { name: 'forgetful', everyMs: 1, purges: true, run: count('forgetful') },
      ],
      log,
      { mayPurge: async () => believed },
    );
    loops.start();
    while (rounds.steady < 5) await sleep(1);
    assert.equal(rounds.forgetful, 0);
    believed = true;
    while (rounds.forgetful < 2) await sleep(1);
    await loops.stop();
  });
  it('say once that the database is unavailable, and again when it went away again', async () => {
    const lines: { msg: string; reason?: string; loop?: string }[] = [];
    const loud = createLog({
      level: 'info',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    let rounds = 0;
    const run = async () => {
      rounds += 1;
      if (rounds <= 5 || rounds === 7) throw new DatabaseUnavailable(new Error('no route'));
    };
    const loops = createLoops([{ name: 'patient', everyMs: 1, run }], loud);
    loops.start();
    while (rounds < 10) await sleep(1);
    await loops.stop();
    assert.deepEqual(
      lines.map(({ msg, loop, reason }) => [msg, loop, reason]),
      Array.from({ length: 2 }, () => [
        'background loop postponed',
        'patient',
        'cannot use the database: no route',
      ]),
    );
  });
  it('say again that the database is unavailable, when it stays so', async () => {
    const lines: string[] = [];
    const loud = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
    const run = () => Promise.reject(new DatabaseUnavailable(new Error('no route')));
    const loops = createLoops([{ name: 'patient', everyMs: 1, run }], loud, { remindMs: 5 });
    loops.start();
    while (lines.length < 3) await sleep(1);
    await loops.stop();
  });
  it('stop waits for the round under way, and tells it', async () => {
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
  it('start only those that every process needs, when told so', async () => {
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
  it('begin once, are woken early, and end after the last round', async () => {
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
    assert.ok(seen.filter((word) => word === 'round').length >= 3, seen.join());
  });
  it('stop without start, and twice, is harmless', async () => {
    const loops = createLoops([{ name: 'idle', everyMs: 1, run: async () => {} }], log);
    await loops.stop();
    await loops.stop();
  });
});
