import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createPace, nextTurn, type Pace } from './pace.ts';

describe('background work', () => {
  let now: number;
  let requests: { count: number };
  let pauses: { milliseconds: number; end(): void }[];
  let started: string[];
  let pace: Pace;

  beforeEach(() => {
    now = 0;
    requests = { count: 0 };
    pauses = [];
    started = [];
    pace = createPace({
      requests,
      elapsed: () => now,
      pause: (milliseconds) =>
        new Promise((resolve) => {
          pauses.push({ milliseconds, end: resolve });
        }),
    });
  });

  const portion = (name: string, duration: number) => async () => {
    started.push(name);
    await nextTurn();
    now += duration;
    return name;
  };

  it('starts at once with a few requests', async () => {
    requests.count += 9;
    await Promise.all([pace(portion('first', 10)), pace(portion('second', 10))]);
    assert.deepEqual([started, pauses.length], [['first', 'second'], 0]);
  });

  it('runs one portion at a time while many requests come, and rests three times as long as it took', async () => {
    requests.count += 10;
    const first = pace(portion('first', 10));
    const second = pace(portion('second', 20));
    assert.equal(await first, 'first', 'its caller does not wait for the rest');
    await nextTurn();
    assert.deepEqual([started, pauses[0]?.milliseconds], [['first'], 30]);
    pauses[0]?.end();
    await second;
    assert.deepEqual([started, pauses[1]?.milliseconds], [['first', 'second'], 60]);
  });

  it('rests for a second at most', async () => {
    requests.count += 10;
    const waiting = pace(async () => {
      now += 900;
    });
    await waiting;
    assert.equal(pauses[0]?.milliseconds, 1_000);
  });

  it('goes on after a portion that failed', async () => {
    requests.count += 10;
    const failing = pace(() => Promise.reject(new Error('no connection')));
    const next = pace(portion('next', 1));
    await assert.rejects(failing, /no connection/);
    pauses[0]?.end();
    assert.equal(await next, 'next');
  });

  it('starts at once again two seconds after the last requests', async () => {
    requests.count += 10;
    await pace(portion('paced', 1));
    pauses[0]?.end();
    now += 1_001;
    await pace(portion('still paced', 1));
    assert.equal(pauses.length, 2);
    now += 1_001;
    await pace(portion('at once', 1));
    assert.equal(pauses.length, 2);
  });

  it('starts at once when the requests came over a long time', async () => {
    requests.count += 10;
    now += 60_000;
    await pace(portion('at once', 1));
    assert.equal(pauses.length, 0);
  });
});
