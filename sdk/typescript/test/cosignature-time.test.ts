/** A witness can name any time from 1970 on: also one that no Date can hold is read, and printed as the Python SDK prints it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { createCosigner } from '../../../test/support/peers/witnesses.ts';
import type { AuditExportCase } from '../../../test/support/sdk/export-changes.ts';
import { createStatementReader } from '../src/audit/statement-reader.ts';
import type { PublicKey } from '../src/audit/statements.ts';
import { verifyExport } from '../src/audit/verify-export.ts';
import { cosign } from '../src/transparency/cosignature.ts';
import { isoTimeOf } from '../src/transparency/cosignature-time.ts';
import { readLogTrust } from '../src/transparency/log-trust.ts';
import { formatNote, parseNote, withSignatures } from '../src/transparency/note.ts';
import { formatVerifierKey } from '../src/transparency/verifier-key.ts';

const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
);
const { jwks, lines, log } = auditExports.find(
  ({ name }) => name === 'a day, with two witnesses',
) as AuditExportCase;

/** The last moments are the last that a Date can hold, the first that it cannot, and the last of a cosignature. */
const times: readonly (readonly [number, string])[] = [
  [1, '1970-01-01T00:00:01.000Z'],
  [1_800_000_000, '2027-01-15T08:00:00.000Z'],
  [253_402_300_799, '9999-12-31T23:59:59.000Z'],
  [253_402_300_800, '+010000-01-01T00:00:00.000Z'],
  [8_640_000_000_000, '+275760-09-13T00:00:00.000Z'],
  [8_640_000_000_001, '+275760-09-13T00:00:01.000Z'],
  [Number.MAX_SAFE_INTEGER, '+285428751-11-12T07:36:31.000Z'],
];

for (const [time, text] of times)
  it(`witnessed at ${text}`, async () => {
    const witness = createCosigner('witness.example/any-time');
    const withCosignature = async (line: string) => {
      const fields = JSON.parse(line);
      if (fields.kind !== 'logProof') return line;
      const note = parseNote(fields.checkpoint);
      const added = await cosign(note.text, time, witness);
      return JSON.stringify({ ...fields, checkpoint: formatNote(withSignatures(note, [added])) });
    };
    const { finding, witnessed } = await verifyExport(await Promise.all(lines.map(withCosignature)), {
      roots: jwks.keys as PublicKey[],
      read: createStatementReader(),
      log: readLogTrust({ key: String(log?.key), witnesses: [formatVerifierKey(witness.key)] }),
    });
    assert.equal(finding, undefined);
    assert.deepEqual([witnessed?.time, witnessed?.witnesses], [text, [witness.key.name]]);
  });

it('is the time of a Date where a Date can hold it', () => {
  for (let day = 0; day <= 1_000_000; day += 997) {
    const seconds = day * 86_400 + 12_345;
    assert.equal(isoTimeOf(seconds), new Date(seconds * 1_000).toISOString());
  }
});
