import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { createSigningBacklog } from './signing-backlog.ts';

describe('signing backlog', () => {
  it('is ready while at most maxUnsigned tokens are being signed, then when enough are signed or have failed', async () => {
    const backlog = createSigningBacklog(1);
    const responses = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    assert.equal(backlog.ready(), undefined);
    backlog.add(responses[0]?.promise as Promise<void>);
    assert.equal(backlog.ready(), undefined, 'one is allowed');
    for (const { promise } of responses.slice(1)) backlog.add(promise);

    let isReady = false;
    const ready = backlog.ready()?.then(() => {
      isReady = true;
    });
    responses[0]?.resolve();
    await nextTick();
    assert.equal(isReady, false, 'two are left');
    responses[1]?.reject(new Error('a refused request'));
    await ready;
    assert.equal(backlog.ready(), undefined);
    responses[2]?.resolve();
    await nextTick();
    assert.equal(backlog.ready(), undefined);
  });
});
