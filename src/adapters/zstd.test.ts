import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { DamagedFile } from '../kernel/ports/compression.ts';
import { zstd } from './zstd.ts';

async function* pieces(bytes: Uint8Array, size = 1_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const all = async (content: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(content));
const text = Buffer.concat([Buffer.from('a line\n'.repeat(50_000)), randomBytes(300_000)]);

describe('zstd', () => {
  it('gives back what was compressed, in pieces of any size', async () => {
    for (const size of [1, 700, 1_000_000]) {
      const small = size === 1 ? text.subarray(0, 3_000) : text;
      const compressed = await all(zstd.compress(pieces(small, size)));
      assert.deepEqual(await all(zstd.decompress(pieces(compressed, size))), small);
    }
    assert.equal((await all(zstd.decompress(zstd.compress(pieces(Buffer.alloc(0)))))).length, 0);
  });

  it('reads on when its reader has read', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given += 1;
        yield randomBytes(100_000);
      }
    }
    const content = zstd.compress(endless())[Symbol.asyncIterator]();
    await content.next();
    for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
    assert.ok(given < 50, String(given));
    await content.return?.();
    const before = given;
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    assert.ok(given <= before + 1);
  });

  it('an error of the content stays as it is', async () => {
    async function* failing() {
      yield text;
      throw new RangeError('no more');
    }
    await assert.rejects(all(zstd.compress(failing())), RangeError);
    await assert.rejects(all(zstd.decompress(failing())), (error) => error instanceof Error);
  });

  it('DamagedFile: a changed byte, a missing end, another format', async () => {
    const compressed = await all(zstd.compress(pieces(text)));
    const changed = Buffer.from(compressed);
    changed.writeUInt8(changed.readUInt8(200_000) ^ 1, 200_000);
    for (const bytes of [changed, compressed.subarray(0, -1), Buffer.from('not compressed')])
      await assert.rejects(all(zstd.decompress(pieces(bytes))), DamagedFile);
    assert.deepEqual(await all(zstd.decompress(pieces(zstdCompressSync(text)))), text);
  });

  it('DamagedFile: anything after the last frame', async () => {
    const frame = zstdCompressSync('a line\n');
    const skippable = Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0), Buffer.from('xx')]);
    for (const size of [1, 5, 1_000]) {
      for (const more of [Buffer.of(0), Buffer.from('garbage'), frame.subarray(0, 2), frame.subarray(0, -1)])
        await assert.rejects(all(zstd.decompress(pieces(Buffer.concat([frame, more]), size))), DamagedFile);
      for (const [more, lines] of [
        [frame, 2],
        [skippable, 1],
      ] as const) {
        const bytes = await all(zstd.decompress(pieces(Buffer.concat([frame, more]), size)));
        assert.equal(String(bytes), 'a line\n'.repeat(lines));
      }
    }
    // Its last byte is that which follows the content.
    const cut = Array.from({ length: 5_000 }, (_, at) => zstdCompressSync(`line ${at}`)).filter(
      (each) => each.at(-1) === 0,
    );
    for (const each of cut)
      await assert.rejects(all(zstd.decompress(pieces(each.subarray(0, -1)))), DamagedFile);
  });
});
