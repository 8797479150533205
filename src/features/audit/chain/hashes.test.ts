import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { linkRecord, timeTextIn, usualLinkRecord } from './hashes.ts';
import { type Checkpoint, checkpointText, plainCheckpointText } from './statements.ts';

const year2000 = Date.UTC(2000, 0, 1);
const eventHash = 'e'.repeat(64);

/** The formula of docs/decisions/006-audit-chain.md without any shortcut. */
function recordByFormula(sequence: number, eventId: string, time: string): string {
  const microseconds = (Date.parse(`${time.slice(0, 23)}Z`) - year2000) * 1000 + Number(time.slice(23, 26));
  const hex = (number: number) => number.toString(16).padStart(16, '0');
  return hex(sequence) + eventId.replaceAll('-', '') + hex(microseconds) + eventHash;
}

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length });
const time = fc.oneof(
  fc
    .date({ noInvalidDate: true })
    .map((date) => `${date.toISOString().slice(0, -1)}`)
    .chain((text) => digits(3).map((rest) => `${text}${rest}Z`)),
  fc
    .tuple(digits(4), digits(2), digits(2), digits(2), digits(2), digits(2), digits(6))
    .map(
      ([year, month, day, hour, minute, second, rest]) =>
        `${year}-${month}-${day}T${hour}:${minute}:${second}.${rest}Z`,
    ),
  fc.constantFrom(
    '2026-11-17T24:00:00.000000Z',
    '2026-11-17T24:00:00.000001Z',
    '2026-11-17T24:00:00.001000Z',
    '2026-02-29T00:00:00.000000Z',
    '',
  ),
  fc.string(),
);
const eventId = fc.oneof(
  fc.uuid(),
  fc.string({ unit: fc.constantFrom(...'0a-'), minLength: 34, maxLength: 38 }),
  fc.string(),
);
const sequence = fc.oneof(fc.maxSafeNat(), fc.nat(20_000_000), fc.double());

it('a record follows the formula, for any values and in any order', () => {
  fc.assert(
    fc.property(sequence, eventId, time, (...[number, id, text]) => {
      assert.equal(
        linkRecord({ sequence: number, eventId: id, time: text, eventHash }),
        recordByFormula(number, id, text),
      );
    }),
    { numRuns: 5_000 },
  );
});

const timeOfService = fc
  .date({ noInvalidDate: true, min: new Date(year2000), max: new Date(Date.UTC(2100, 0, 1) - 1) })
  .chain((date) => digits(3).map((rest) => `${date.toISOString().slice(0, -1)}${rest}Z`));

it('the time of a record is the one that it was made of, in any order', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.uuid(), timeOfService, (number, id, text) => {
      const record = linkRecord({ sequence: number, eventId: id, time: text, eventHash });
      assert.equal(timeTextIn(record), text);
      assert.equal(usualLinkRecord(number, id, text, eventHash), record);
    }),
    { numRuns: 5_000 },
  );
});

it('a time that no genuine link has is no text', () => {
  for (const digitsOfTime of ['7fffffffffffffff', 'ffffffffffffffff', 'fffc8f6d4a9a0000'])
    assert.equal(timeTextIn(`${'0'.repeat(48)}${digitsOfTime}${eventHash}`), '');
});

const hash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));

it('the text of a new checkpoint is canonical JSON', () => {
  const checkpoint: fc.Arbitrary<Checkpoint> = fc.record({
    organizationId: fc.uuid(),
    number: fc.maxSafeNat(),
    size: fc.maxSafeNat(),
    head: hash,
    at: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    previous: fc.option(hash),
  });
  fc.assert(fc.property(checkpoint, (each) => assert.equal(plainCheckpointText(each), checkpointText(each))));
});
