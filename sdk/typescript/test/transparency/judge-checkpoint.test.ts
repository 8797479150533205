import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatCheckpoint } from '../../src/transparency/checkpoint.ts';
import { cosign, cosignatureMessage, parseCosignature } from '../../src/transparency/cosignature.ts';
import { judgeCheckpoint } from '../../src/transparency/judge-checkpoint.ts';
import { formatNote, type Note, type NoteSignature, withSignatures } from '../../src/transparency/note.ts';
import { openCheckpoint } from '../../src/transparency/open-checkpoint.ts';
import { verifySignatures } from '../../src/transparency/open-note.ts';
import { signNote } from '../../src/transparency/sign-note.ts';
import { signatureTypes } from '../../src/transparency/verifier-key.ts';
import { bitChanges, refusal, signerOf } from './support.ts';

const log = signerOf('log.example/log', signatureTypes.note, 1);
const [w1, w2, w3] = ['w1.example', 'w2.example', 'w3.example'].map((name, at) =>
  signerOf(name, signatureTypes.cosignature, 2 + at),
) as [ReturnType<typeof signerOf>, ReturnType<typeof signerOf>, ReturnType<typeof signerOf>];
const checkpoint = { origin: log.key.name, size: 5, root: 'cd'.repeat(32) };
const text = formatCheckpoint(checkpoint);
const note: Note = { text, signatures: [await signNote(text, log)] };
const cosigned = async (...by: readonly (readonly [typeof w1, number])[]): Promise<string> => {
  const added = await Promise.all(by.map(([witness, time]) => cosign(text, time, witness)));
  return formatNote({ text, signatures: [...note.signatures, ...added] });
};
const policy = { logKey: log.key, witnesses: [w1.key, w2.key, w3.key], quorum: 2 };

describe('a cosignature', () => {
  it('signs the time and the text of the checkpoint', async () => {
    const signature = await cosign(text, 1679315147, w1);
    assert.equal(
      Buffer.from(cosignatureMessage(1679315147, text)).toString(),
      `cosignature/v1\ntime 1679315147\n${text}`,
    );
    assert.equal(signature.keyId, w1.key.keyId);
    assert.equal(Buffer.from(signature.payload.subarray(0, 8)).toString('hex'), '00000000641850cb');
    assert.equal(parseCosignature(signature.payload)?.time, 1679315147);
    const [verified] = await verifySignatures(text, [signature], [w1.key]);
    assert.deepEqual(verified, { key: w1.key, signature, time: 1679315147 });
  });

  it('is refused with any bit changed', async () => {
    const signature = await cosign(text, 1679315147, w1);
    for (const payload of bitChanges(signature.payload))
      await assert.rejects(
        verifySignatures(text, [{ ...signature, payload: Uint8Array.from(payload) }], [w1.key]),
        refusal('SIGNATURE_INVALID'),
      );
  });

  it('SIGNATURE_INVALID: a time of zero or above 2^53 - 1, another length, or a signature of a note', async () => {
    const { payload, ...line } = await cosign(text, 1, w1);
    const plain = await w1.sign(new TextEncoder().encode(text));
    const zero = await w1.sign(cosignatureMessage(0, text));
    for (const wrong of [
      payload.slice(1),
      Uint8Array.of(...payload, 0),
      Uint8Array.from(plain),
      Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1, ...plain),
      Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...zero),
      Uint8Array.of(0, 0x20, 0, 0, 0, 0, 0, 0, ...payload.subarray(8)),
    ])
      await assert.rejects(
        verifySignatures(text, [{ ...line, payload: wrong }], [w1.key]),
        refusal('SIGNATURE_INVALID'),
      );
  });

  it('is made of checkpoints only, by keys for cosignatures, at a time', async () => {
    await assert.rejects(cosign('Some text\n', 1, w1), refusal('CHECKPOINT_MALFORMED'));
    await assert.rejects(cosign(text, 1, log), TypeError);
    for (const time of [0, -1, 1.5, 2 ** 53, Number.NaN])
      await assert.rejects(cosign(text, time, w1), TypeError);
  });
});

describe('a checkpoint is judged', () => {
  it('witnessed at the time at which the quorum was reached', async () => {
    const verdict = await judgeCheckpoint(await cosigned([w3, 300], [w1, 100], [w2, 200]), policy);
    assert.equal(verdict.witnessedAt, 200);
    assert.equal(verdict.lacking, 0);
    assert.deepEqual(verdict.absent, []);
    assert.deepEqual(verdict.checkpoint, { ...checkpoint, extensions: [] });
    assert.deepEqual(
      verdict.cosignatures.map(({ witness, time }) => [witness.name, time]),
      [
        ['w1.example', 100],
        ['w2.example', 200],
        ['w3.example', 300],
      ],
    );
  });

  it('not witnessed below the quorum, with the witnesses that are absent', async () => {
    const verdict = await judgeCheckpoint(await cosigned([w2, 200]), policy);
    assert.equal(verdict.witnessedAt, undefined);
    assert.equal(verdict.lacking, 1);
    assert.deepEqual(verdict.absent, [w1.key, w3.key]);
    assert.equal((await judgeCheckpoint(formatNote(note), policy)).lacking, 2);
  });

  it('with one vote for each witness, its earliest', async () => {
    const verdict = await judgeCheckpoint(await cosigned([w1, 300], [w1, 100], [w1, 200]), policy);
    assert.deepEqual(verdict.cosignatures, [{ witness: w1.key, time: 100 }]);
    assert.equal(verdict.witnessedAt, undefined);
  });

  it('without cosignatures of the future', async () => {
    const input = await cosigned([w1, 100], [w2, 201]);
    assert.equal((await judgeCheckpoint(input, { ...policy, latest: 200 })).witnessedAt, undefined);
    assert.equal((await judgeCheckpoint(input, { ...policy, latest: 201 })).witnessedAt, 201);
  });

  it('without the cosignatures of others', async () => {
    const stranger = signerOf('w9.example', signatureTypes.cosignature, 9);
    const verdict = await judgeCheckpoint(await cosigned([stranger, 50], [w1, 100]), policy);
    assert.equal(verdict.lacking, 1);
    assert.equal(verdict.note.signatures.length, 3);
  });

  it('SIGNATURE_INVALID: a witness that signed another checkpoint', async () => {
    const elsewhere = await cosign(formatCheckpoint({ ...checkpoint, size: 6 }), 100, w1);
    const input = formatNote(withSignatures(note, [elsewhere]));
    await assert.rejects(judgeCheckpoint(input, policy), refusal('SIGNATURE_INVALID'));
  });

  it('NOTE_NOT_SIGNED: cosignatures without the signature of the log', async () => {
    const only = formatNote({ text, signatures: [await cosign(text, 100, w1), await cosign(text, 100, w2)] });
    await assert.rejects(judgeCheckpoint(only, policy), refusal('NOTE_NOT_SIGNED'));
  });

  it('ORIGIN_MISMATCH: another log, even with the signature of this one', async () => {
    const foreign = formatCheckpoint({ ...checkpoint, origin: 'log.example/other' });
    const input = formatNote({ text: foreign, signatures: [await signNote(foreign, log)] });
    await assert.rejects(judgeCheckpoint(input, policy), refusal('ORIGIN_MISMATCH'));
  });

  it('CHECKPOINT_MALFORMED: another text that the log signed', async () => {
    const input = formatNote({ text: 'Text\n', signatures: [await signNote('Text\n', log)] });
    await assert.rejects(openCheckpoint(input, log.key), refusal('CHECKPOINT_MALFORMED'));
  });

  it('never as witnessed with any bit changed', async () => {
    const input = Buffer.from(await cosigned([w1, 100], [w2, 200]));
    for (const changed of bitChanges(input)) {
      const verdict = await judgeCheckpoint(changed, policy).catch(() => undefined);
      assert.equal(verdict?.witnessedAt, undefined);
    }
  });

  it('with extension lines, which are signed too', async () => {
    const longer = `${text}an extension\n`;
    const by = async (signature: Promise<NoteSignature>) =>
      formatNote({ text: longer, signatures: [await signNote(longer, log), await signature] });
    const one = { ...policy, quorum: 1 };
    assert.equal((await judgeCheckpoint(await by(cosign(longer, 7, w1)), one)).witnessedAt, 7);
    await assert.rejects(judgeCheckpoint(await by(cosign(text, 7, w1)), one), refusal('SIGNATURE_INVALID'));
  });

  it('TypeError for a policy in which one party counts twice, or with an impossible quorum', async () => {
    const input = formatNote(note);
    const sameKey = signerOf('w4.example', signatureTypes.cosignature, 2).key;
    const sameName = signerOf('w1.example', signatureTypes.cosignature, 8).key;
    const ofLog = signerOf('w5.example', signatureTypes.cosignature, 1).key;
    for (const change of [
      { quorum: 0 },
      { quorum: 4 },
      { quorum: 1.5 },
      { witnesses: [w1.key, w1.key] },
      { witnesses: [w1.key, sameKey] },
      { witnesses: [w1.key, sameName] },
      { witnesses: [w1.key, ofLog] },
      { witnesses: [w1.key, signerOf('w6.example', signatureTypes.note, 6).key] },
      { logKey: signerOf(log.key.name, signatureTypes.cosignature, 1).key },
    ])
      await assert.rejects(judgeCheckpoint(input, { ...policy, ...change }), TypeError);
  });
});
