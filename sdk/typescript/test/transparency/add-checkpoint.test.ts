import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  formatAddCheckpoint,
  formatKnownSize,
  maxProofLines,
  maxRequestBytes,
  parseAddCheckpoint,
  parseKnownSize,
} from '../../src/transparency/add-checkpoint.ts';
import { formatCheckpoint } from '../../src/transparency/checkpoint.ts';
import { cosign } from '../../src/transparency/cosignature.ts';
import { formatNote, formatSignatureLines, parseSignatureLines } from '../../src/transparency/note.ts';
import { signNote } from '../../src/transparency/sign-note.ts';
import { signatureTypes } from '../../src/transparency/verifier-key.ts';
import { refusal, signerOf } from './support.ts';

const log = signerOf('log.example/log', signatureTypes.note, 1);
const witness = signerOf('w1.example', signatureTypes.cosignature, 2);
const text = formatCheckpoint({ origin: log.key.name, size: 9, root: 'cd'.repeat(32) });
const note = { text, signatures: [await signNote(text, log)] };
const proof = ['01'.repeat(32), '02'.repeat(32)];
const body = formatAddCheckpoint({ oldSize: 5, proof, note });

describe('the request add-checkpoint', () => {
  it('has the old size, the proof, a blank line and the checkpoint', () => {
    const lines = proof.map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`);
    assert.equal(body, `old 5\n${lines.join('')}\n${formatNote(note)}`);
    const { checkpoint, ...request } = parseAddCheckpoint(body);
    assert.deepEqual(request, { oldSize: 5, proof, note });
    assert.equal(checkpoint.size, 9);
  });

  it('is read as it was written, for any proof', () => {
    const hash = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((each) => Buffer.from(each).toString('hex'));
    fc.assert(
      fc.property(fc.nat(9), fc.array(hash, { maxLength: maxProofLines }), (oldSize, any) => {
        const request = { oldSize, proof: any, note };
        const { checkpoint: _, ...parsed } = parseAddCheckpoint(Buffer.from(formatAddCheckpoint(request)));
        assert.deepEqual(parsed, request);
      }),
    );
  });

  it('may have as many lines of proof as are allowed', () => {
    const longest = { oldSize: 5, proof: Array.from({ length: maxProofLines }, () => 'ef'.repeat(32)), note };
    assert.deepEqual(parseAddCheckpoint(formatAddCheckpoint(longest)).proof, longest.proof);
  });

  it('may have extension lines and further signatures', async () => {
    const longer = `${text}extension\n`;
    const signatures = [await signNote(longer, log), await cosign(longer, 1, witness)];
    const any = { oldSize: 0, proof: [], note: { text: longer, signatures } };
    assert.deepEqual(parseAddCheckpoint(formatAddCheckpoint(any)).note, any.note);
  });

  const proofLine = `${Buffer.from(proof[0] as string, 'hex').toString('base64')}\n`;
  const malformed: Readonly<Record<string, string>> = {
    'no body': '',
    'only a checkpoint': formatNote(note),
    'no blank line': body.replace('\n\n', '\n'),
    'a blank line first': `\n${body}`,
    'no old size': body.replace('old 5\n', ''),
    'another word': body.replace('old', 'new'),
    'two spaces': body.replace('old ', 'old  '),
    'a leading zero': body.replace('old 5', 'old 05'),
    'a space after the size': body.replace('old 5', 'old 5 '),
    'a size above 2^53 - 1': body.replace('old 5', 'old 9007199254740992'),
    'an old size above that of the checkpoint': body.replace('old 5', 'old 10'),
    'a short hash': body.replace(proofLine, `${Buffer.alloc(31).toString('base64')}\n`),
    'a hash with surplus bits': body.replace('=\n', 'B\n').replace('EB\n', 'F=\n'),
    'a hash and a space': body.replace('=\n', '= \n'),
    'a carriage return': body.replaceAll('\n', '\r\n'),
    'too many bytes': `old 5\n\n${'x'.repeat(maxRequestBytes)}`,
    'too many lines': body.replace(proofLine, proofLine.repeat(maxProofLines)),
  };
  for (const [title, input] of Object.entries(malformed))
    it(`MESSAGE_MALFORMED: ${title}`, () => {
      assert.notEqual(input, body);
      assert.throws(() => parseAddCheckpoint(input), refusal('MESSAGE_MALFORMED'));
    });

  it('NOTE_MALFORMED and CHECKPOINT_MALFORMED for its checkpoint', () => {
    assert.throws(() => parseAddCheckpoint(body.slice(0, -1)), refusal('NOTE_MALFORMED'));
    assert.throws(() => parseAddCheckpoint('old 0\n\n'), refusal('NOTE_MALFORMED'));
    assert.throws(() => parseAddCheckpoint(body.replace('\n9\n', '\n09\n')), refusal('CHECKPOINT_MALFORMED'));
  });

  it('is not made with a proof that is too long, or with a text that is no checkpoint', () => {
    const long = Array.from({ length: maxProofLines + 1 }, () => proof[0] as string);
    const malformed = refusal('MESSAGE_MALFORMED');
    assert.throws(() => formatAddCheckpoint({ oldSize: 5, proof: long, note }), malformed);
    assert.throws(() => formatAddCheckpoint({ oldSize: 5, proof: ['x'], note }), malformed);
    assert.throws(() => formatAddCheckpoint({ oldSize: -1, proof, note }), malformed);
    assert.throws(
      () => formatAddCheckpoint({ oldSize: 5, proof, note: { ...note, text: 'Text\n' } }),
      refusal('CHECKPOINT_MALFORMED'),
    );
  });
});

describe('the answers of a witness', () => {
  it('200: signature lines', async () => {
    const signatures = [await cosign(text, 1, witness)];
    assert.deepEqual(parseSignatureLines(formatSignatureLines(signatures)), signatures);
    for (const each of ['', '\n', 'ok\n', formatSignatureLines(signatures).slice(0, -1)])
      assert.throws(() => parseSignatureLines(each), refusal('NOTE_MALFORMED'));
  });

  it('409: the size that it knows', () => {
    for (const size of [0, 20852163, Number.MAX_SAFE_INTEGER])
      assert.equal(parseKnownSize(formatKnownSize(size)), size);
    for (const each of ['', '\n', '5', '05\n', '5\n\n', '-5\n', '9007199254740992\n', `${'1'.repeat(99)}\n`])
      assert.throws(() => parseKnownSize(each), refusal('MESSAGE_MALFORMED'), each);
  });
});
