/** Exports that are made to cost much, or to be read differently by different programs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { JSONWebKeySet } from 'jose';
import type { AuditExportCase } from '../../../test/support/sdk/export-changes.ts';
import { AuditExportError, readLines, verifyAuditExport } from '../src/sdk.ts';

const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
);
const day = auditExports.find(({ name }) => name === 'a day') as AuditExportCase;
const { lines } = day;
const jwks = day.jwks as JSONWebKeySet;
const text = `${lines.join('\n')}\n`;
const [header = '', ...rest] = lines;

const streamOf = (bytes: Uint8Array) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      // A character may be in two chunks.
      for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.subarray(at, at + 7));
      controller.close();
    },
  });
const verify = (bytes: Uint8Array | string) =>
  verifyAuditExport(readLines(streamOf(Buffer.from(bytes))), undefined, { jwks });
const isInvalid = (error: unknown) =>
  error instanceof AuditExportError && error.code === 'EXPORT_LINE_INVALID';

/** So many lines were read before the verification ended. */
async function countRead(line: string): Promise<number> {
  let read = 0;
  function* endless() {
    yield header;
    for (read = 1; read < 1_000_000; read += 1) yield line;
  }
  await assert.rejects(verifyAuditExport(endless(), undefined, { jwks }), isInvalid);
  return read;
}

describe('an export that is not bounded', () => {
  it('empty lines: some are ignored, and not without end', async () => {
    await verify(text.replaceAll('\n', '\n\r\n\n'));
    assert.equal(await countRead(''), 1_001);
  });

  it('keys: neither many nor large ones fill the memory', async () => {
    const key = { kind: 'key', number: 1, keyId: 'k', at: '', signed: '' };
    assert.equal(await countRead(JSON.stringify(key)), 10_001);
    // Eight megabytes each, of 64 together.
    assert.equal(await countRead(JSON.stringify({ ...key, signed: 'A'.repeat(2 ** 23) })), 8);
  });
});

describe('bytes that programs read differently', () => {
  it('a byte order mark, bytes that are no UTF-8, and a second carriage return', async () => {
    await verify(text.replaceAll('\n', '\r\n'));
    const cut = Buffer.from(text);
    const changed = Buffer.from(text);
    changed.writeUInt8(0xff, changed.lastIndexOf('"signed"') + 12);
    for (const bytes of [
      `\ufeff${text}`,
      `${header}\n\ufeff${rest.join('\n')}\n`,
      `${text}\r\r\n`,
      Buffer.concat([cut, Buffer.of(0xc3)]),
      Buffer.concat([cut, Buffer.of(0xc3, 0x28), Buffer.from('\n')]),
      changed,
    ])
      await assert.rejects(verify(bytes), isInvalid, JSON.stringify(String(bytes).slice(-20)));
  });
});
