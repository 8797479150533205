import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { repetitions } from '../../../../test/support/repetitions.ts';
import { UnsupportedAlgorithm } from '../../src/audit/statement-reader.ts';
import { toBase64 } from '../../src/transparency/bytes.ts';
import {
  formatNote,
  maxNoteBytes,
  maxSignatures,
  type Note,
  type NoteSignature,
  parseNote,
  withSignatures,
} from '../../src/transparency/note.ts';
import { openNote } from '../../src/transparency/open-note.ts';
import { signNote } from '../../src/transparency/sign-note.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  isKeyName,
  parseVerifierKey,
  signatureTypes,
} from '../../src/transparency/verifier-key.ts';
import { bitChanges, lineText, refusal, signerOf } from './support.ts';

const log = signerOf('log.example/1', signatureTypes.note, 1);
const other = signerOf('other.example', signatureTypes.note, 2);
const text = 'A text\n\nwith an empty line\n';
const note: Note = { text, signatures: [await signNote(text, log)] };
const signed = formatNote(note);
const line = signed.slice(signed.indexOf('— '));

describe('a signed note', () => {
  it('is read as it was written', () => {
    assert.deepEqual(parseNote(signed), note);
    assert.deepEqual(parseNote(Buffer.from(signed)), note);
    assert.match(line, /^— log\.example\/1 [\w+/]+=*\n$/);
  });

  it('for any text and any signatures', () => {
    const signature = fc.record(
      {
        name: lineText({ minLength: 1 }).filter(isKeyName),
        keyId: fc
          .uint8Array({ minLength: 4, maxLength: 4 })
          .map((bytes) => Buffer.from(bytes).toString('hex')),
        payload: fc.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) => Uint8Array.from(bytes)),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(
        fc.array(lineText(), { minLength: 1 }),
        fc.array(signature, { minLength: 1, maxLength: 5 }),
        (lines, signatures) => {
          const any = { text: `${lines.join('\n')}\n`, signatures };
          assert.deepEqual(parseNote(formatNote(any)), any);
        },
      ),
      { numRuns: repetitions(100, 1_000) },
    );
  });

  it('is opened by the key that signed it', async () => {
    const { verified, ...rest } = await openNote(signed, [other.key, log.key]);
    assert.deepEqual(rest, note);
    assert.deepEqual(verified, [{ key: log.key, signature: note.signatures[0] }]);
  });

  it('NOTE_NOT_SIGNED without a signature of a known key', async () => {
    await assert.rejects(openNote(signed, []), refusal('NOTE_NOT_SIGNED'));
    await assert.rejects(openNote(signed, [other.key]), refusal('NOTE_NOT_SIGNED'));
  });

  it('SIGNATURE_INVALID for a known key with a wrong signature, even beside a right one', async () => {
    const wrong: NoteSignature = { ...(await signNote('Another text\n', other)) };
    const both = formatNote(withSignatures(note, [wrong]));
    assert.equal((await openNote(both, [log.key])).verified.length, 1);
    await assert.rejects(openNote(both, [log.key, other.key]), refusal('SIGNATURE_INVALID'));
    const twice = formatNote({ text, signatures: [...note.signatures, { ...wrong, ...log.key }] });
    await assert.rejects(openNote(twice, [log.key]), refusal('SIGNATURE_INVALID'));
  });

  it('SIGNATURE_INVALID when two known keys have one name and id', async () => {
    const forged = { ...other.key, name: log.key.name, keyId: log.key.keyId };
    await assert.rejects(openNote(signed, [forged, log.key]), refusal('SIGNATURE_INVALID'));
  });

  it('ignores signatures that share only the name or only the id with a known key', async () => {
    const [own] = note.signatures as [NoteSignature];
    const odd = [
      { ...own, name: 'log.example/2' },
      { ...own, keyId: '00000000' },
    ];
    const opened = await openNote(formatNote(withSignatures(note, odd)), [log.key]);
    assert.equal(opened.verified.length, 1);
    assert.equal(opened.signatures.length, 3);
  });

  it('is refused with any bit changed', async () => {
    for (const changed of bitChanges(Buffer.from(signed))) await assert.rejects(openNote(changed, [log.key]));
  });

  it('UnsupportedAlgorithm on a platform without Ed25519, which is no verdict about the note', async (t) => {
    const importKey = t.mock.method(crypto.subtle, 'importKey', () =>
      Promise.reject(new DOMException('unknown algorithm', 'NotSupportedError')),
    );
    await assert.rejects(openNote(signed, [log.key]), UnsupportedAlgorithm);
    importKey.mock.mockImplementation(() => Promise.reject(new DOMException('not a key', 'DataError')));
    await assert.rejects(openNote(signed, [log.key]), refusal('SIGNATURE_INVALID'));
  });

  it('replaces the signature of a key that signs again', async () => {
    const again = { ...(note.signatures[0] as NoteSignature), payload: Uint8Array.of(1) };
    assert.deepEqual(withSignatures(note, [again]).signatures, [again]);
    const second = await signNote(text, other);
    assert.deepEqual(withSignatures(withSignatures(note, [second]), [again]).signatures, [again, second]);
  });
});

describe('NOTE_MALFORMED', () => {
  const cases: Readonly<Record<string, string | Uint8Array>> = {
    'an empty note': '',
    'no blank line': `Text\n${line}`,
    'no signature': 'Text\n\n',
    'no newline at the end': signed.slice(0, -1),
    'a line after the signatures': `${signed}more\n`,
    'a blank line after the signatures': `${signed}\n`,
    'a tab in the text': signed.replace(' ', '\t'),
    'a carriage return': signed.replace('\n', '\r\n'),
    'a zero byte': signed.replace(' ', '\0'),
    'a lone surrogate': signed.replace('A', '\ud800'),
    'bytes that are not UTF-8': Buffer.concat([Uint8Array.of(0xff), Buffer.from(signed)]),
    'an overlong encoding': Buffer.concat([Uint8Array.of(0xc0, 0x8a), Buffer.from(signed)]),
    'a hyphen for the dash': signed.replace('— ', '- '),
    'no space after the dash': signed.replace('— ', '—'),
    'no name': signed.replace('log.example/1 ', ' '),
    'a plus in the name': signed.replace('log.example', 'log+example'),
    'a no-break space in the name': signed.replace('log.example', 'log\u00a0example'),
    'a narrow space in the name': signed.replace('log.example', 'log\u2009example'),
    'no base64': signed.replace(/(— \S+) \S+/, '$1'),
    'empty base64': signed.replace(/(— \S+ )\S+/, '$1'),
    'base64 without padding': signed.replace('=\n', '\n'),
    'base64 with a space': signed.replace(/=\n/, ' =\n'),
    base64url: signed.replace(/(— \S+ )\S+/, '$1-_-_-_-_-_-_'),
    'surplus bits in the base64': signed.replace(/(— \S+ )\S+/, '$1AAAAAAB='),
    'a key id and nothing more': signed.replace(/(— \S+ )\S+/, `$1${toBase64(new Uint8Array(4))}`),
    'too many signatures': `Text\n\n${line.repeat(maxSignatures + 1)}`,
    'too many bytes': `${'é'.repeat(maxNoteBytes / 2)}\n\n${line}`,
  };
  for (const [title, input] of Object.entries(cases))
    it(title, () => {
      assert.notEqual(input, signed);
      assert.throws(() => parseNote(input), refusal('NOTE_MALFORMED'));
    });

  it('not for as many signatures and bytes as are allowed', () => {
    assert.equal(parseNote(`Text\n\n${line.repeat(maxSignatures)}`).signatures.length, maxSignatures);
    assert.ok(parseNote(`${'x'.repeat(maxNoteBytes - Buffer.byteLength(line) - 2)}\n\n${line}`));
  });

  it('when a note is written that could not be read', () => {
    const malformed = refusal('NOTE_MALFORMED');
    for (const each of ['Text', 'Text\r\n', '', 'Text\n\n— x AAAAAAA='])
      assert.throws(() => formatNote({ ...note, text: each }), malformed, each);
    assert.throws(() => formatNote({ text, signatures: [] }), malformed);
    const [own] = note.signatures as [NoteSignature];
    assert.throws(() => formatNote({ text, signatures: [{ ...own, name: 'a b' }] }), malformed);
    assert.throws(() => formatNote({ text, signatures: [{ ...own, name: 'a\n\n— b' }] }), malformed);
  });
});

describe('a verifier key', () => {
  const written = formatVerifierKey(log.key);

  it('is read as it was written', () => {
    assert.match(written, /^log\.example\/1\+[0-9a-f]{8}\+A[\w+/]{43}$/);
    assert.deepEqual(parseVerifierKey(written, signatureTypes.note), log.key);
  });

  it('for any name and key', () => {
    fc.assert(
      fc.property(
        lineText({ minLength: 1, maxLength: 20 }).filter(isKeyName),
        fc.constantFrom(...Object.values(signatureTypes)),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (name, type, bytes) => {
          const key = createVerifierKey(name, type, bytes);
          assert.deepEqual(parseVerifierKey(formatVerifierKey(key), type), key);
        },
      ),
    );
  });

  it('has another id with another type', () => {
    const { name, publicKey, keyId } = log.key;
    assert.notEqual(createVerifierKey(name, signatureTypes.cosignature, publicKey).keyId, keyId);
  });

  it('KEY_MALFORMED with any bit changed', () => {
    for (const changed of bitChanges(Buffer.from(written)))
      assert.throws(
        () => parseVerifierKey(Buffer.from(changed).toString(), signatureTypes.note),
        refusal('KEY_MALFORMED'),
      );
  });

  it('KEY_MALFORMED for another type, form, length or name', () => {
    const [name, keyId, key] = written.split('+') as [string, string, string];
    const short = Buffer.from(key, 'base64').subarray(0, 32).toString('base64');
    for (const each of [
      '',
      name,
      `${name}+${keyId}`,
      `${name}+${keyId}+`,
      `${name}+${keyId.toUpperCase()}x+${key}`,
      `+${keyId}+${key}`,
      ` ${written}`,
      `${written} `,
      `${written}=`,
      `${name}+${keyId}+${short}`,
      `${'n'.repeat(256)}+${keyId}+${key}`,
    ])
      assert.throws(() => parseVerifierKey(each, signatureTypes.note), refusal('KEY_MALFORMED'), each);
    assert.throws(() => parseVerifierKey(written, signatureTypes.cosignature), {
      code: 'KEY_MALFORMED',
      message: 'the key has type 0x01, not 0x04',
    });
  });

  it('signs notes only when its type does', async () => {
    await assert.rejects(signNote(text, signerOf('w', signatureTypes.cosignature, 3)), TypeError);
    await assert.rejects(signNote(text, { ...log, sign: () => new Uint8Array(63) }), TypeError);
  });
});
