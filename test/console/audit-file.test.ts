/** The verification of files by the console: archived days and exports of a real server with witnesses, and ways to change them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { byteSize } from '../../console/src/components/byte-size.ts';
import { exactTime } from '../../console/src/components/exact-time.ts';
import type { Evidence } from '../../console/src/pages/audit/proof/evidence.ts';
import { chooseKeys, keysOf, noKeys, parseKeys } from '../../console/src/pages/audit/proof/log-keys.ts';
import {
  type FileProgress,
  type FileVerdict,
  type ListedDay,
  verifyFile,
} from '../../console/src/pages/audit/proof/verify-file.ts';
import { witnessingOf } from '../../console/src/pages/audit/proof/witnessing.ts';
import { formatVerifierKey } from '../../sdk/typescript/src/transparency/verifier-key.ts';
import { startApp } from '../support/harness.ts';
import {
  cosignBody,
  createCosigner,
  newLogKey,
  startFakeWitness,
  verifierKeyOf,
  witnessVariables,
} from '../support/peers/witnesses.ts';
import { inPieces, sha256, toNextDay } from '../support/scenarios/archive.ts';
import { recordEvents } from '../support/scenarios/audit-log.ts';

const AUDIT_LOG_KEY = newLogKey();
const startCosigner = (name: string) =>
  startFakeWitness(name, (signer) => async ({ body }, response) => {
    response.end(await cosignBody(body, signer, { time: Math.floor(t.clock.now() / 1_000) }));
  });
const [one, two] = [await startCosigner('witness.example/one'), await startCosigner('witness.example/two')];
const t = await startApp({ AUDIT_LOG_KEY, ...witnessVariables([one, two], 2) });
const { audit, instanceLog, ids } = t.app;
toNextDay(t);
await audit.prepare();
const organizationId = ids.uuid();
const date = new Date(t.clock.now()).toISOString().slice(0, 10);
await recordEvents(t, organizationId, 60);
await audit.linkAll();
toNextDay(t);
await audit.prepare();
await recordEvents(t, organizationId, 5);
await audit.linkAll();
await instanceLog.grow();
assert.equal(await instanceLog.witness(), 'done');

const get = async (path: string) => (await t.call('GET', path, { token: await t.token() })).json;
const { data: statements } = await get('/api/v1/audit/keys?limit=200');
const { keys: published } = await get('/.well-known/jwks.json');
const evidence: Pick<Evidence, 'keys' | 'publishedKeys'> = {
  keys: async () => statements,
  publishedKeys: async () => published,
};
const linesOfDay = async (day: string) => {
  const lines: string[] = [];
  for await (const line of audit.exportDay({ organizationId, day })) lines.push(`${JSON.stringify(line)}\n`);
  return lines;
};
const text = (await linesOfDay(date)).join('');
const file = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
const chainHead = JSON.parse(
  text.split('\n').findLast((line) => line.includes('"kind":"checkpoint"')) ?? '',
).head;
const listedAs = (bytes: Uint8Array, changes: Partial<ListedDay> = {}): ListedDay => ({
  ...{ organizationId, date, events: 60, bytes: bytes.length, sha256: sha256(bytes), chainHead },
  ...changes,
});
const listed = listedAs(file);

const decodesAlike = (bytes: Uint8Array): boolean => {
  try {
    return zstdDecompressSync(bytes).toString() === text;
  } catch {
    return false;
  }
};
const verify = (bytes: Uint8Array, day: ListedDay | undefined = listed) =>
  verifyFile({ chunks: inPieces(bytes), listed: day, evidence });
const foundIn = (verdict: FileVerdict) =>
  verdict.status === 'broken'
    ? { code: verdict.finding.code, isAsListed: verdict.isAsListed }
    : assert.fail(verdict.status);
const intact = async (bytes: Uint8Array, day?: ListedDay) => {
  const verdict = await verify(bytes, day);
  return verdict.status === 'intact' ? verdict : assert.fail(JSON.stringify(verdict));
};

const report = await get('/api/v1/audit/witnesses');
const server = keysOf(report);

describe('a day of the archive', () => {
  it('intact: every event, and how many the checkpoint of the log covers', async () => {
    const { events, chains, logEvents, logCheckpoint } = await intact(file);
    assert.deepEqual([events, chains, logEvents], [60, 1, 60]);
    assert.match(logCheckpoint ?? '', /^countersign\.test\/log\n/);
  });

  it('reports its progress, however the bytes arrive', async () => {
    for (const size of [1, 300, 1_000_000]) {
      const seen: FileProgress[] = [];
      const onProgress = (progress: FileProgress) => seen.push(progress);
      const chunks = inPieces(file, size);
      assert.equal((await verifyFile({ chunks, listed, evidence, onProgress })).status, 'intact');
      assert.equal(seen.length, Math.ceil(file.length / size));
      assert.equal(seen.at(-1)?.bytes, file.length);
    }
  });

  it('not intact: a byte changed, wherever it is', async () => {
    for (let at = 0; at < file.length; at += Math.ceil(file.length / 53)) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      assert.equal(foundIn(await verify(changed)).isAsListed, false, `byte ${at}`);
      // In the list, too: then it was archived like this. The head, the checksum at the end and unused bits do not change the events.
      if (at < 18 || at >= file.length - 4 || decodesAlike(changed)) continue;
      const verdict = await verify(changed, listedAs(changed));
      if (verdict.status === 'intact') {
        // In the signatures of the log's checkpoint, which are verified with the witnesses.
        const { status } = await witnessingOf(verdict.logCheckpoint, server);
        assert.ok(status === 'wrong' || status === 'missing', `byte ${at}`);
      } else assert.equal(foundIn(verdict).isAsListed, true, `byte ${at}`);
    }
  });

  it('not intact: the end is missing, or there is more', async () => {
    for (const length of [0, 1, 17, 1_000, file.length - 5, file.length - 1])
      assert.equal(foundIn(await verify(file.subarray(0, length))).isAsListed, false, `${length} bytes`);
    const short = file.subarray(0, file.length - 2);
    assert.deepEqual(foundIn(await verify(short, listedAs(short))), {
      code: 'FILE_UNREADABLE',
      isAsListed: true,
    });
    const more = Buffer.concat([file, zstdCompressSync('{"kind":"end"}\n')]);
    assert.deepEqual(foundIn(await verify(more)), { code: 'FILE_CHANGED', isAsListed: false });
    assert.deepEqual(foundIn(await verify(more, listedAs(more))), {
      code: 'EXPORT_CONTINUES',
      isAsListed: true,
    });
  });

  it('not intact: the same events in another file than the one in the list', async () => {
    const other = zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 9 } });
    assert.notDeepEqual(other, file);
    assert.deepEqual(foundIn(await verify(other)), { code: 'FILE_CHANGED', isAsListed: false });
  });

  it('not intact: the list says something else', async () => {
    const next = new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
    const differences: readonly [Partial<ListedDay>, string][] = [
      [{ date: next }, 'FILE_OF_ANOTHER_DAY'],
      [{ organizationId: ids.uuid() }, 'FILE_OF_ANOTHER_DAY'],
      [{ events: 61 }, 'FILE_LISTED_DIFFERENTLY'],
      [{ chainHead: 'ab'.repeat(32) }, 'FILE_LISTED_DIFFERENTLY'],
      [{ sha256: 'ab'.repeat(32) }, 'FILE_CHANGED'],
    ];
    for (const [changes, code] of differences)
      assert.equal(foundIn(await verify(file, listedAs(file, changes))).code, code);
  });

  it('not intact: an event, a proof or the end was changed before compression', async () => {
    const changes: readonly [RegExp, string, string][] = [
      [/"outcome\\":\\"success/, String.raw`"outcome\":\"failure`, 'EVENT_CHANGED'],
      [/("kind":"logProof".*"leafIndex":)\d+/, '$19', 'LOG_PROOF_INVALID'],
      [/\{"kind":"end".*\n/, '', 'EXPORT_TRUNCATED'],
      [/"kind":"link"/, '"kind":"other"', 'EXPORT_LINE_INVALID'],
    ];
    for (const [pattern, replacement, code] of changes) {
      const changed = zstdCompressSync(text.replace(pattern, replacement));
      const found = await verify(changed, listedAs(changed));
      assert.equal(foundIn(found).code, code);
      assert.match(found.status === 'broken' ? found.finding.message : '', /^[A-Z].*\.$/);
    }
  });

  it('not intact: a line that would fill the memory, and a few bytes that stand for many', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(32 * 1024 * 1024, 'a'));
    assert.equal(foundIn(await verify(bomb, listedAs(bomb))).code, 'EXPORT_LINE_INVALID');
  });

  it('neither: a download that breaks off, unless the finding came before', async () => {
    const broken = async function* (bytes: Uint8Array) {
      yield bytes.subarray(0, bytes.length - 10);
      throw new Error('broken off');
    };
    await assert.rejects(verifyFile({ chunks: broken(file), listed, evidence }), /broken off/);
    const garbage = Buffer.from(file).fill(0, 0, 100);
    const verdict = await verifyFile({ chunks: broken(garbage), listed, evidence });
    assert.deepEqual(foundIn(verdict), { code: 'FILE_UNREADABLE', isAsListed: undefined });
  });

  it('not intact: signed by keys that do not lead to the published ones', async () => {
    const other = { ...evidence, publishedKeys: async () => [] };
    const verdict = await verifyFile({ chunks: inPieces(file), listed, evidence: other });
    assert.equal(foundIn(verdict).code, 'KEY_NOT_TRUSTED');
  });
});

describe('an export', async () => {
  const exported = (await t.call('GET', '/api/v1/audit/export', { token: await t.token() })).text;
  const of = (content: string) => verifyFile({ chunks: inPieces(Buffer.from(content), 10_000), evidence });

  it('intact: all chains, and the events that the checkpoint of the log does not cover yet', async () => {
    const verdict = await of(exported);
    assert.ok(verdict.status === 'intact', JSON.stringify(verdict));
    assert.ok(verdict.chains >= 2 && verdict.logEvents >= 65 && verdict.logEvents < verdict.events);
  });

  it('not intact: without its signed end, and with an event changed', async () => {
    const unsigned = exported.replace(/(\{"kind":"end".*),"signed":"[^"]*"/, '$1');
    assert.notEqual(unsigned, exported);
    assert.equal(foundIn(await of(unsigned)).code, 'FILE_NOT_SIGNED');
    assert.equal(foundIn(await of(exported.replace(/\\"success\\"/, '\\"failure\\"'))).code, 'EVENT_CHANGED');
  });
});

describe('witnesses of a file', async () => {
  const { logCheckpoint: note } = await intact(file);
  const stranger = formatVerifierKey(createCosigner('stranger.example').key);
  const [keyOfOne = '', keyOfTwo = ''] = [one, two].map(({ line }) => line.split(' ')[0]);
  const judge = (lines: readonly string[]) => {
    const { keys, problem } = parseKeys(lines.join('\n'));
    assert.equal(problem, undefined);
    return witnessingOf(note, chooseKeys(server, keys ?? noKeys));
  };

  it('by the keys that the server names', async () => {
    const witnessing = await judge([]);
    assert.ok(witnessing.status === 'witnessed');
    assert.deepEqual(witnessing.witnesses.toSorted(), [one.name, two.name]);
    assert.ok(Math.abs(Date.parse(witnessing.time) - t.clock.now()) < 600_000);
    assert.deepEqual(chooseKeys(server, noKeys).sources, { logs: 'server', witnesses: 'server' });
  });

  it('by the keys of the reader: some of the witnesses, or with the key of the log', async () => {
    const some = await judge([keyOfTwo]);
    assert.deepEqual(some.status === 'witnessed' && some.witnesses, [two.name]);
    const all = await judge([verifierKeyOf(AUDIT_LOG_KEY), keyOfOne, stranger, 'quorum 1']);
    assert.deepEqual(all.status === 'witnessed' && all.witnesses, [one.name]);
    const { keys = noKeys } = parseKeys(keyOfOne);
    assert.deepEqual(chooseKeys(server, keys).sources, { logs: 'server', witnesses: 'reader' });
  });

  it('missing: a witness of the reader has not cosigned', async () => {
    const witnessing = await judge([keyOfOne, stranger]);
    assert.deepEqual(witnessing, {
      status: 'missing',
      reason: 'Too few witnesses have cosigned: 1 more of stranger.example.',
    });
  });

  it('missing: the log is another one, or the file has no proof', async () => {
    const other = verifierKeyOf(newLogKey(), 'elsewhere.example/log');
    const witnessing = await judge([other]);
    assert.match(witnessing.status === 'missing' ? witnessing.reason : '', /countersign\.test\/log/);
    assert.equal((await witnessingOf(undefined, server)).status, 'missing');
  });

  it('at any time that a witness names, also one that no Date can hold', async () => {
    const late = createCosigner('witness.example/late');
    const cosigned = `${note}${await cosignBody(`old 0\n\n${note}`, late, { time: Number.MAX_SAFE_INTEGER })}`;
    const trusted = parseKeys(formatVerifierKey(late.key)).keys ?? noKeys;
    const witnessing = await witnessingOf(cosigned, chooseKeys(server, trusted));
    assert.ok(witnessing.status === 'witnessed');
    assert.equal(witnessing.time, '+285428751-11-12T07:36:31.000Z');
    assert.equal(exactTime(witnessing.time), '+285428751-11-12 07:36:31 UTC');
    assert.equal(exactTime('2026-11-17T03:12:45.678Z'), '2026-11-17 03:12:45 UTC');
  });

  it('wrong: the key of the log, or of a witness, has not made the signature with its name', async () => {
    const imitated = verifierKeyOf(newLogKey());
    assert.equal((await judge([imitated])).status, 'wrong');
    const changed = note?.replace(/\n(\d+)\n/, (_, size) => `\n${size}0\n`);
    assert.equal((await witnessingOf(changed, server)).status, 'wrong');
  });

  it('none: without witnesses, only whether the log has it', async () => {
    assert.deepEqual(await witnessingOf(note, { ...server, witnesses: [], quorum: 0 }), {
      status: 'none',
      isInLog: true,
    });
    for (const without of [await witnessingOf(undefined, noKeys), await witnessingOf(note, noKeys)])
      assert.deepEqual(without, { status: 'none', isInLog: false });
    assert.deepEqual(keysOf({ ...report, logKey: null, witnesses: [], quorum: null }), noKeys);
  });

  it('keys that are typed: comments, URLs and empty lines, and what is wrong with them', () => {
    const { keys } = parseKeys(`# mine\n\n  ${keyOfOne}  https://w.example # one\r\n${keyOfTwo}\nquorum 1\n`);
    assert.deepEqual([keys?.witnesses.length, keys?.logs.length, keys?.quorum], [2, 0, 1]);
    const problems: readonly [string, RegExp][] = [
      ['witness.example/one', /^Line 1: not of the form/],
      [`${keyOfOne}\n${keyOfTwo.replace(/\+[0-9a-f]{8}\+/, '+00000000+')}`, /^Line 2: the key id/],
      [`${keyOfOne}\nquorum none`, /^Line 2: the quorum is one number/],
      [`${keyOfOne}\nquorum 2`, /between 1 and the number of witnesses/],
      [`${keyOfOne}\n${keyOfOne}`, /has the name or the public key of another/],
      ['quorum 1', /needs the keys of witnesses/],
      [`${verifierKeyOf(newLogKey())}\n${verifierKeyOf(newLogKey())}`, /logs have the same name/],
    ];
    for (const [typed, problem] of problems) assert.match(parseKeys(typed).problem ?? '', problem);
  });
});

it('sizes of files', () => {
  const sizes = [0, 1, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 3_400_000, 1_234_567_890];
  assert.deepEqual(sizes.map(byteSize), [
    ...['0 bytes', '1 bytes', '999 bytes', '1 kB', '9.9 kB', '10 kB', '999 kB', '1 MB', '3.4 MB', '1.2 GB'],
  ]);
});
