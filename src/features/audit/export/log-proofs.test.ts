/** Exports of an instance with a log: proofs that it has them, and exports of single days. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import type {
  CheckpointLine,
  ExportLine,
  StartLine,
} from '../../../../sdk/typescript/src/audit/export-lines.ts';
import { AuditExportError, verifyAuditExport } from '../../../../sdk/typescript/src/sdk.ts';
import { cosign } from '../../../../sdk/typescript/src/transparency/cosignature.ts';
import { formatNote, parseNote, withSignatures } from '../../../../sdk/typescript/src/transparency/note.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  parseVerifierKey,
  type SignatureType,
  signatureTypes,
} from '../../../../sdk/typescript/src/transparency/verifier-key.ts';
import { startApp } from '../../../../test/support/harness.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const pem = () =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const t = await startApp({ AUDIT_LOG_KEY: pem() });
const { audit, instanceLog, ids } = t.app;
// Each day has its events within it.
t.clock.advance(dayMs - (t.clock.now() % dayMs) + 3_600_000);
const organizationId = ids.uuid();
const record = async (events: number) => {
  await recordEvents(t, organizationId, events);
  await audit.linkAll();
  t.clock.advance(1_000);
};
const today = () => new Date(t.clock.now()).toISOString().slice(0, 10);
const jwks = (await t.call('GET', '/.well-known/jwks.json')).json;
const download = async (query = `?organizationId=${organizationId}`): Promise<string[]> => {
  t.clock.advance(60_000);
  const answer = await t.call('GET', `/api/v1/audit/export${query}`, { token: await t.token() });
  assert.equal(answer.status, 200, answer.text);
  return answer.text.trimEnd().split('\n');
};
const linesOf = (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as ExportLine);
const ofKind = <Kind extends ExportLine['kind']>(texts: readonly string[], kind: Kind) =>
  linesOf(texts).filter((line): line is Extract<ExportLine, { kind: Kind }> => line.kind === kind);
const exportDay = async (day: string): Promise<string[]> => {
  const lines: string[] = [];
  for await (const line of audit.exportDay({ organizationId, day })) lines.push(JSON.stringify(line));
  return lines;
};
const refusedWith = (code: string) => (error: unknown) =>
  error instanceof AuditExportError && error.code === code;

const first = today();
await record(3);
await record(2);
t.clock.advance(dayMs);
await audit.prepare();
const second = today();
await record(4);
await instanceLog.grow();
const key = (await t.call('GET', '/log/key')).text.trim();

function createWitness(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const verifierKey = createVerifierKey(name, signatureTypes.cosignature, Buffer.from(x, 'base64url'));
  const signer = { key: verifierKey, sign: (message: Uint8Array) => sign(null, message, privateKey) };
  return {
    key: formatVerifierKey(verifierKey),
    /** The lines, with the cosignature in each note. */
    async cosigned(texts: readonly string[]): Promise<string[]> {
      const cosignNote = async (text: string) => {
        const note = parseNote(text);
        const time = Math.floor(t.clock.now() / 1_000);
        return formatNote(withSignatures(note, [await cosign(note.text, time, signer)]));
      };
      return Promise.all(
        linesOf(texts).map(async (line, at) =>
          line.kind === 'logProof'
            ? JSON.stringify({ ...line, checkpoint: await cosignNote(line.checkpoint) })
            : (texts[at] as string),
        ),
      );
    },
  };
}
const witness = createWitness('witness.example');
const log = { key, witnesses: [witness.key] };

describe('GET /audit/export of an instance with a log', () => {
  it('200: a proof directly after the newest checkpoint of each organization that the log has', async () => {
    const texts = await download('');
    const lines = linesOf(texts);
    const proofs = lines.filter((line) => line.kind === 'logProof');
    const organizations = new Set(ofKind(texts, 'checkpoint').map((line) => line.organizationId));
    assert.deepEqual(new Set(proofs.map((line) => line.organizationId)), organizations);
    assert.equal(proofs.length, organizations.size);
    assert.equal(new Set(proofs.map(({ checkpoint }) => checkpoint)).size, 1);
    for (const proof of proofs) {
      const before = lines[lines.indexOf(proof) - 1] as CheckpointLine;
      assert.deepEqual(
        [before.kind, before.organizationId, before.number, before.inclusion?.treeHead],
        ['checkpoint', proof.organizationId, proof.number, proof.treeHead],
      );
    }
    assert.equal((await verifyAuditExport(texts, undefined, { jwks, log: { key } })).witnessed, null);
  });

  it('verifies with a witness that has cosigned, and LOG_QUORUM_MISSING without', async () => {
    const texts = await download();
    const result = await verifyAuditExport(await witness.cosigned(texts), undefined, { jwks, log });
    const { checkpointSize, time, witnesses, events } = result.witnessed ?? assert.fail('not witnessed');
    assert.deepEqual([witnesses, events, result.events], [['witness.example'], 9, 9]);
    assert.equal(checkpointSize, ofKind(texts, 'logProof')[0]?.treeSize);
    assert.ok(Math.abs(Date.parse(time) - t.clock.now()) < 600_000);
    await assert.rejects(
      verifyAuditExport(texts, undefined, { jwks, log }),
      refusedWith('LOG_QUORUM_MISSING'),
    );
  });

  it('TypeError: a key that is none, one party as two, a quorum that cannot be reached', async () => {
    const texts = await download();
    const { note, cosignature } = signatureTypes;
    const named = (name: string, text: string, type: SignatureType) =>
      formatVerifierKey(createVerifierKey(name, cosignature, parseVerifierKey(text, type).publicKey));
    const otherName = named('w2', witness.key, cosignature);
    const logAsWitness = named('w3', key, note);
    for (const wrong of [
      { key: 'x' },
      { key: witness.key },
      { key, witnesses: [key] },
      { key, witnesses: [witness.key, witness.key] },
      { key, witnesses: [witness.key, otherName] },
      { key, witnesses: [logAsWitness] },
      { key, witnesses: [witness.key], quorum: 2 },
      { key, witnesses: [witness.key], quorum: 0 },
      { key, quorum: 1 },
    ])
      await assert.rejects(verifyAuditExport(texts, undefined, { jwks, log: wrong }), TypeError);
  });

  it('events that are newer than the checkpoint of the log follow the proof', async () => {
    await record(2);
    const texts = await download();
    const { events, witnessed } = await verifyAuditExport(await witness.cosigned(texts), undefined, {
      jwks,
      log,
    });
    assert.deepEqual([events, witnessed?.events], [11, 9]);
    assert.equal(linesOf(texts).at(-2)?.kind, 'checkpoint');
  });

  it('has no proofs when the instance has no log, and an organization that the log does not have is named', async () => {
    const own = await startApp();
    const { text } = await own.call('GET', '/api/v1/audit/export', { token: await own.token() });
    assert.ok(!text.includes('"logProof"'));
    const newest = ids.uuid();
    await recordEvents(t, newest, 1);
    const texts = await download(`?organizationId=${newest}`);
    await assert.rejects(verifyAuditExport(texts, undefined, { jwks, log: { key } }), (error) => {
      assert.ok(error instanceof AuditExportError);
      assert.deepEqual([error.code, error.organizationId], ['LOG_QUORUM_MISSING', newest]);
      return true;
    });
  });
});

describe('the export of a day', () => {
  it('verifies alone, and the next one goes on from its last checkpoint', async () => {
    t.clock.advance(dayMs);
    await audit.prepare();
    const [one, next] = [await exportDay(first), await exportDay(second)];
    const verdicts = await Promise.all(
      [one, next].map((each) => verifyAuditExport(each, undefined, { jwks })),
    );
    assert.deepEqual(
      verdicts.map(({ day, events, chains }) => [day, events, chains]),
      [
        [first, 5, 1],
        [second, 6, 1],
      ],
    );
    assert.deepEqual(ofKind(one, 'start'), []);
    const { kind, ...start } = ofKind(next, 'start')[0] as StartLine;
    const { kind: _, ...last } = ofKind(one, 'checkpoint').at(-1) as CheckpointLine;
    assert.deepEqual(start, last);
    const whole = await download();
    const links = [one, next].flatMap((each) => each.filter((text) => text.startsWith('{"kind":"link"')));
    assert.deepEqual(
      links.map((text) => JSON.parse(text)),
      ofKind(whole, 'link'),
    );
    const witnessed = await verifyAuditExport(await witness.cosigned(one), undefined, { jwks, log });
    assert.equal(witnessed.witnessed?.events, 5);
  });

  it('a day without events has its start alone, and an organization without events nothing', async () => {
    const quiet = today();
    t.clock.advance(dayMs);
    await audit.prepare();
    const texts = await exportDay(quiet);
    assert.deepEqual(
      linesOf(texts).map(({ kind }) => kind),
      ['export', 'key', 'start', 'end'],
    );
    const { events, day } = await verifyAuditExport(texts, undefined, { jwks });
    assert.deepEqual([events, day], [0, quiet]);
  });

  it('refuses a day that is not over, and one that retention has dropped', async () => {
    assert.throws(() => audit.exportDay({ organizationId, day: today() }), /is not over/);
    t.clock.advance(Date.parse(first) + 91 * dayMs + 7_200_000 - t.clock.now());
    await audit.prepare();
    await audit.retain();
    await assert.rejects(exportDay(first), /retention has dropped/);
    const { day, events } = await verifyAuditExport(await exportDay(second), undefined, { jwks });
    assert.deepEqual([day, events], [second, 6]);
  });
});
