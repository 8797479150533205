/** The instance log over HTTP: what a monitor that knows nothing of us reads and checks. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { leafHash } from '../../../sdk/typescript/src/audit/merkle.ts';
import { parseEntryBundle } from '../../../sdk/typescript/src/transparency/entry-bundle.ts';
import { openCheckpoint } from '../../../sdk/typescript/src/transparency/open-checkpoint.ts';
import { proveConsistency, rootOf } from '../../../sdk/typescript/src/transparency/prove.ts';
import type { ReadTile } from '../../../sdk/typescript/src/transparency/read-hashes.ts';
import { tilePath } from '../../../sdk/typescript/src/transparency/tile-path.ts';
import { parseVerifierKey, signatureTypes } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { verifyConsistency } from '../../../sdk/typescript/src/transparency/verify-proof.ts';
import { startApp, type TestApp } from '../../../test/support/harness.ts';

const newKey = () =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const AUDIT_LOG_KEY = newKey();
const t = await startApp({ AUDIT_LOG_KEY });

/** Links the events of one change, and lets the log grow. */
async function change(app: TestApp = t): Promise<void> {
  await t.agent();
  await app.app.audit.linkAll();
  await app.app.instanceLog.grow();
}

const keyOf = async (app: TestApp) =>
  parseVerifierKey((await app.call('GET', '/log/key')).text.trimEnd(), signatureTypes.note);
async function checkpointOf(app: TestApp = t) {
  const answer = await app.call('GET', '/log/checkpoint');
  assert.equal(answer.status, 200, answer.text);
  return { ...(await openCheckpoint(answer.text, await keyOf(app))).checkpoint, headers: answer.headers };
}
const bytesOf = async (path: string, app: TestApp = t): Promise<Buffer> => {
  const { statusCode, rawPayload } = await app.app.http.server.inject(`/log/${path}`);
  assert.equal(statusCode, 200, path);
  return rawPayload;
};
const tilesOf =
  (app: TestApp): ReadTile =>
  async (tile) =>
    bytesOf(tilePath(tile), app);

describe('GET /log/…', () => {
  it('200: a checkpoint that the key has signed, with the root of the tiles; each entry is a signed tree head', async () => {
    await change();
    const { origin, size, root, headers } = await checkpointOf();
    assert.equal(origin, 'countersign.test/log');
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(await rootOf(tilesOf(t), size), root);
    const entries = parseEntryBundle(
      await bytesOf(tilePath({ level: 'entries', index: 0, width: size })),
      size,
    );
    const heads = await t.sql<{ signed: string }>('select signed from audit_tree_heads order by number');
    assert.deepEqual(
      entries.map((entry) => Buffer.from(entry).toString()),
      heads.map(({ signed }) => signed),
    );
    const hashes = await bytesOf(tilePath({ level: 0, index: 0, width: size }));
    assert.equal(Buffer.from(hashes.subarray(-32)).toString('hex'), leafHash(heads.at(-1)?.signed ?? ''));
  });

  it('200: every later tree contains the earlier one; a tile of an earlier size stays', async () => {
    const before = await checkpointOf();
    const tile = tilePath({ level: 0, index: 0, width: before.size });
    const hashes = await bytesOf(tile);
    await change();
    await change();
    const after = await checkpointOf();
    assert.ok(after.size > before.size);
    assert.ok(
      verifyConsistency({
        oldSize: before.size,
        oldRoot: before.root,
        newSize: after.size,
        newRoot: after.root,
        proof: await proveConsistency(tilesOf(t), before.size, after.size),
      }),
    );
    assert.deepEqual(await bytesOf(tile), hashes);
  });
});

const stopped = async ({ app }: TestApp) =>
  /^service_audit_instance_log_stopped (\d)$/m.exec(await app.metrics.text())?.[1];

describe('the log', () => {
  const checkpointText = async (app: TestApp = t) => (await app.call('GET', '/log/checkpoint')).text;

  it('404 LOG_NOT_FOUND without a key; a log that there was before stays readable', async () => {
    const fresh = await startApp();
    for (const path of ['checkpoint', 'key', 'tile/0/000']) {
      const { status, json } = await fresh.call('GET', `/log/${path}`);
      assert.deepEqual([status, json.code], [404, 'LOG_NOT_FOUND']);
    }
    assert.equal(await checkpointText(await startApp({}, t)), await checkpointText());
  });

  it('404 LOG_TILE_NOT_FOUND for tiles that the tree does not have, and for other spellings', async () => {
    const { size } = await checkpointOf();
    const partial = tilePath({ level: 0, index: 0, width: size });
    for (const path of [
      'tile/0/000',
      'tile/0/001',
      'tile/1/000',
      'tile/64/000',
      'tile/entries/000',
      `tile/0/000.p/${size + 1}`,
      `tile/entries/000.p/${size + 1}`,
      partial.replace('/000', '/x000/000'),
      partial.replace('/000', '/0'),
      `${partial}/`,
      'tile/0/000.p/0',
      'tile/0/..%2f..%2fkey',
    ]) {
      const { status, json } = await t.call('GET', `/log/${path}`);
      assert.equal(status, 404, path);
      assert.match(json.code, /NOT_FOUND/);
    }
  });

  it('of several nodes that grow it at once, each entry is there once', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => startApp({ AUDIT_LOG_KEY }, t)));
    for (let round = 0; round < 5; round += 1) {
      await change();
      await Promise.all(nodes.map(({ app }) => app.instanceLog.grow()));
    }
    await t.app.instanceLog.loops[0]?.run(new AbortController().signal);
    assert.equal(await stopped(t), '0');
    const { size, root } = await checkpointOf();
    assert.equal(await rootOf(tilesOf(t), size), root);
    const [count] = await t.sql<{ count: string }>('select count(*) as count from audit_tree_heads');
    assert.equal(size, Number(count?.count));
  });

  const harms: Readonly<Record<string, readonly [string, RegExp]>> = {
    'a tree head was removed': [
      'delete from audit_tree_heads where number = (select max(number) from audit_tree_heads)',
      /its last entry, is missing/,
    ],
    'the text of a tree head was changed': [
      "update audit_tree_heads set signed = signed || 'x' where number = (select max(number) from audit_tree_heads)",
      /is not its last entry/,
    ],
    'a hash was changed': [
      'update instance_log_tiles set hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) where level = 0',
      /do not have the root/,
    ],
    'its size was set back': ['update instance_logs set size = size - 1', /do not have the root/],
    'its checkpoint was changed': [
      "update instance_logs set checkpoint = replace(checkpoint, E'\\n' || size || E'\\n', E'\\n' || (size + 1) || E'\\n')",
      /is not ours/,
    ],
  };
  for (const [what, [harm, reason]] of Object.entries(harms))
    it(`signs nothing more when ${what}`, async () => {
      const own = await startApp({ AUDIT_LOG_KEY });
      const grow = async (app: TestApp) => {
        await own.agent();
        await app.app.audit.linkAll();
        await app.app.instanceLog.grow();
      };
      for (const _ of [1, 2, 3]) await grow(own);
      const before = await checkpointText(own);
      if (what !== 'its checkpoint was changed') await assert.rejects(own.sql(harm), /append-only/);
      await own.sql(`set session_replication_role = replica; ${harm}; set session_replication_role = origin`);
      const restarted = await startApp({ AUDIT_LOG_KEY, LOG_LEVEL: 'error' }, own);
      await assert.rejects(grow(restarted), reason);
      const [loop] = restarted.app.instanceLog.loops;
      for (const _ of [1, 2]) await loop?.run(new AbortController().signal);
      assert.equal(await stopped(restarted), '1');
      assert.match(restarted.logs.join(), reason);
      assert.equal(restarted.logs.filter((line) => line.includes('it signs nothing more')).length, 1);
      if (what !== 'its checkpoint was changed') assert.equal(await checkpointText(own), before);
    });

  it('another key begins another log, whose first entry is the last checkpoint of the one before', async () => {
    const own = await startApp({ AUDIT_LOG_KEY });
    const grow = async (app: TestApp) => {
      await own.agent();
      await app.app.audit.linkAll();
      await app.app.instanceLog.grow();
    };
    await grow(own);
    const last = await checkpointText(own);
    const { size: entries } = await checkpointOf(own);
    const rotated = await startApp({ AUDIT_LOG_KEY: newKey() }, own);
    await grow(rotated);
    const { origin, size, root } = await checkpointOf(rotated);
    assert.equal(origin, 'countersign.test/log-2');
    assert.equal(await rootOf(tilesOf(rotated), size), root);
    const bundle = await bytesOf(tilePath({ level: 'entries', index: 0, width: size }), rotated);
    const [first, second] = parseEntryBundle(bundle, size).map((entry) => Buffer.from(entry).toString());
    assert.equal(first, last);
    const [next] = await own.sql<{ signed: string }>(
      'select signed from audit_tree_heads where number = $1',
      [entries + 1],
    );
    assert.equal(second, next?.signed);
    // And back: a log is never continued after another one.
    await grow(await startApp({ AUDIT_LOG_KEY }, own));
    assert.equal((await checkpointOf(own)).origin, 'countersign.test/log-3');
  });

  it('an older instance: the tree heads that are there become the first entries, thousands at a time', async () => {
    const own = await startApp();
    for (const _ of [1, 2, 3]) {
      await own.agent();
      await own.app.audit.linkAll();
    }
    const upgraded = await startApp({ AUDIT_LOG_KEY }, own);
    await upgraded.app.instanceLog.grow();
    const [heads] = await own.sql<{ count: string }>('select count(*) as count from audit_tree_heads');
    assert.equal((await checkpointOf(upgraded)).size, Number(heads?.count));
  });

  it('entries past retention are gone, hashes and proofs stay', async () => {
    const own = await startApp({ AUDIT_LOG_KEY });
    await own.agent();
    await own.app.audit.linkAll();
    await own.app.instanceLog.grow();
    const { size } = await checkpointOf(own);
    own.clock.advance(100 * 86_400_000);
    await own.agent();
    await own.app.audit.linkAll();
    await own.app.instanceLog.grow();
    await own.app.audit.retain();
    await own.agent();
    await own.app.audit.linkAll();
    const restarted = await startApp({ AUDIT_LOG_KEY }, own);
    await restarted.app.instanceLog.grow();
    const { status } = await own.call('GET', `/log/${tilePath({ level: 'entries', index: 0, width: size })}`);
    assert.equal(status, 404);
    const now = await checkpointOf(restarted);
    assert.ok(now.size > size);
    assert.equal(await rootOf(tilesOf(restarted), now.size), now.root);
  });
});
