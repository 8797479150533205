import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSessionCookie } from './cookie.ts';

const secret = `${'a'.repeat(42)}-`;

describe('the session cookie', () => {
  it('over https belongs to the host alone', () => {
    const cookie = createSessionCookie('https://id.test');
    const attributes = '; Path=/; HttpOnly; SameSite=Strict; Secure';
    assert.deepEqual([cookie.problem, cookie.isSharedByPorts], [undefined, false]);
    assert.equal(cookie.set(secret), `__Host-countersign=${secret}${attributes}`);
    assert.equal(cookie.cleared, `__Host-countersign=${attributes}; Max-Age=0`);
    assert.equal(cookie.read(`__Host-countersign=${secret}`), secret);
  });
  for (const host of ['localhost', 'abc.localhost', '127.0.0.1', '127.10.20.30', '[::1]'])
    it(`over http is accepted at ${host}`, () => {
      const cookie = createSessionCookie(`http://${host}:3000`);
      assert.deepEqual([cookie.problem, cookie.isSharedByPorts], [undefined, true]);
      assert.equal(cookie.set(secret), `countersign=${secret}; Path=/; HttpOnly; SameSite=Strict`);
      assert.equal(cookie.read(`countersign=${secret}`), secret);
    });
  for (const host of [
    'id.test',
    'xlocalhost',
    'localhost.test',
    '127.0.0.1.test',
    '10.127.0.0',
    '[::2]',
    '[2001:db8::1]',
  ])
    it(`over http is refused at ${host}`, () => {
      const cookie = createSessionCookie(`http://${host}`);
      assert.match(cookie.problem ?? '', /over plain http the session cookie could be read on the way/);
      assert.equal(cookie.read(`countersign=${secret}`), undefined);
    });

  const { isIn, read } = createSessionCookie('http://localhost');
  for (const [header, found, value] of [
    ['', false, undefined],
    ['other=1', false, undefined],
    [`xcountersign=${secret}`, false, undefined],
    ['countersign', true, undefined],
    ['countersign=', true, undefined],
    [`countersign=${secret}x`, true, undefined],
    [`countersign=x${secret}`, true, undefined],
    [`countersign=${secret.slice(1)}`, true, undefined],
    [`countersign=${secret.slice(1)}.`, true, undefined],
    [`countersign=${secret}=`, true, undefined],
    [`countersign=${secret}; countersign=${secret}`, true, undefined],
    [`a=1;countersign=${secret}; b=2`, true, secret],
    [`a=1;   countersign=${secret}`, true, secret],
  ] as const)
    it(`${value === undefined ? 'is not read' : 'is read'} from "${header.slice(0, 30)}" (${header.length})`, () => {
      assert.equal(isIn(header), found);
      assert.equal(read(header), value);
    });
});
