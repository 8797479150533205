import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from './log.ts';
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
    const loop = (name: string, everywhere: boolean) => ({
      name,
      everywhere,
      everyMs: 5,
      run: async () => void ran.push(name),
    });
    const loops = createLoops([loop('needed', true), loop('elsewhere', false)], log);
    loops.start('everywhere');
    while (ran.length < 3) await sleep(5);
    await loops.stop();
    assert.deepEqual([...new Set(ran)], ['needed']);
  });
  it('stop without start, and twice, is harmless', async () => {
    const loops = createLoops([{ name: 'idle', everyMs: 1, run: async () => {} }], log);
    await loops.stop();
    await loops.stop();
  });
});
