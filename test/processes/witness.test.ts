/** `countersign witness`: the protocol of C2SP tlog-witness over HTTP, forks, and its state across restarts and kills. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leafHash } from '../../sdk/typescript/src/audit/merkle.ts';
import {
  formatAddCheckpoint,
  parseKnownSize,
  sizeContentType,
} from '../../sdk/typescript/src/transparency/add-checkpoint.ts';
import { appendLeaves } from '../../sdk/typescript/src/transparency/append-leaves.ts';
import { formatCheckpoint } from '../../sdk/typescript/src/transparency/checkpoint.ts';
import { parseSignatureLines } from '../../sdk/typescript/src/transparency/note.ts';
import { verifySignatures } from '../../sdk/typescript/src/transparency/open-note.ts';
import { proveConsistency } from '../../sdk/typescript/src/transparency/prove.ts';
import type { ReadTile } from '../../sdk/typescript/src/transparency/read-hashes.ts';
import { signNote } from '../../sdk/typescript/src/transparency/sign-note.ts';
import { tilePath } from '../../sdk/typescript/src/transparency/tile-path.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  parseVerifierKey,
  signatureTypes,
} from '../../sdk/typescript/src/transparency/verifier-key.ts';
import { startInProcess } from '../support/commands-in-process.ts';
import { freePort, startCountersign, until } from '../support/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-witness-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A log with a tree of its own. */
function createLog(origin: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const key = createVerifierKey(origin, signatureTypes.note, Buffer.from(x, 'base64url'));
  const signer = { key, sign: (message: Uint8Array) => sign(null, message, privateKey) };
  const trees = new Map<number, string>([[0, '']]);
  const tiles = new Map<string, Uint8Array>();
  let size = 0;
  const readTile: ReadTile = async (tile) => {
    const bytes = tiles.get(tilePath({ ...tile, width: 256 }));
    if (!bytes) throw new Error('no such tile');
    return bytes.subarray(0, tile.width * 32);
  };
  return {
    verifierKey: formatVerifierKey(key),
    async grow(entries: readonly string[]) {
      const grown = await appendLeaves(readTile, size, entries.map(leafHash));
      for (const { tile, bytes } of grown.tiles) tiles.set(tilePath({ ...tile, width: 256 }), bytes);
      size = grown.size;
      trees.set(size, grown.root);
    },
    async request(
      oldSize: number,
      { to = size, root = trees.get(to), by = signer, proofFrom = oldSize } = {},
    ) {
      const text = formatCheckpoint({ origin, size: to, root: root ?? '' });
      return formatAddCheckpoint({
        oldSize,
        proof: proofFrom <= to ? await proveConsistency(readTile, proofFrom, to) : [],
        note: { text, signatures: [await signNote(text, by)] },
      });
    },
    text: (to = size) => formatCheckpoint({ origin, size: to, root: trees.get(to) ?? '' }),
    signer,
  };
}

const files = { state: join(folder, 'state.json'), key: join(folder, 'witness.pem') };
const argsFor = (port: number, logs: readonly string[], { state, key } = files) => [
  ...['witness', '--port', String(port), '--state', state, '--key', key, '--name', 'witness.example'],
  ...logs.flatMap((log) => ['--log', log]),
];

async function startWitness(logs: readonly string[], given = files) {
  const port = await freePort();
  const command = startInProcess(argsFor(port, logs, given), { env: {}, cwd: folder });
  await until('it listens', async () => command.stderr().includes('cosigning') || undefined);
  const key = parseVerifierKey(command.stdout().trim(), signatureTypes.cosignature);
  return {
    key,
    command,
    async add(body: string) {
      const answer = await fetch(`http://127.0.0.1:${port}/add-checkpoint`, { method: 'POST', body });
      return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') };
    },
    url: `http://127.0.0.1:${port}`,
    async stop() {
      command.kill('SIGTERM');
      assert.equal(await command.gone(), 0);
    },
  };
}

describe('countersign witness', async () => {
  const log = createLog('log.example/log');
  const other = createLog('other.example/log');
  await log.grow(['a', 'b', 'c']);
  let witness = await startWitness([log.verifierKey, other.verifierKey]);

  it('prints its verifier key, which GET / shows, too; it makes its key readable by its owner alone', async () => {
    assert.equal(await (await fetch(witness.url)).text(), witness.command.stdout());
    assert.equal(statSync(files.key).mode & 0o777, 0o600);
    assert.equal(witness.key.name, 'witness.example');
  });

  it('200: a cosignature of the first checkpoint, and of each that continues it', async () => {
    for (const [oldSize, entries] of [
      [0, []],
      [3, ['d']],
      [4, Array.from({ length: 400 }, (_, n) => `e${n}`)],
      [404, []],
    ] as const) {
      await log.grow(entries);
      const now = Math.floor(Date.now() / 1_000);
      const { status, text } = await witness.add(await log.request(oldSize));
      assert.equal(status, 200, text);
      const [verified] = await verifySignatures(log.text(), parseSignatureLines(text), [witness.key]);
      assert.ok(verified?.time !== undefined && verified.time >= now);
    }
  });

  it('409 with its size for another old size, 422 for a wrong proof, 400 for a larger old size and garbage', async () => {
    const stale = await witness.add(await log.request(3));
    assert.deepEqual([stale.status, stale.type, parseKnownSize(stale.text)], [409, sizeContentType, 404]);
    await log.grow(['f']);
    const smaller = await witness.add(await log.request(3, { to: 4 }));
    assert.deepEqual([smaller.status, parseKnownSize(smaller.text)], [409, 404]);
    assert.equal((await witness.add(await log.request(404, { proofFrom: 4 }))).status, 422);
    const larger = (await log.request(404)).replace('old 404', 'old 4040');
    assert.equal((await witness.add(larger)).status, 400);
    for (const body of ['', 'old 0\n\n', 'x'.repeat(1_000)])
      assert.equal((await witness.add(body)).status, 400);
    assert.equal((await witness.add('x'.repeat(1_000_000))).status, 413);
    assert.equal((await witness.add(await log.request(404))).status, 200, 'nothing has changed');
  });

  it('404 for a log that it does not know, 403 for a checkpoint that the log has not signed', async () => {
    const unknown = createLog('unknown.example/log');
    await unknown.grow(['a']);
    assert.equal((await witness.add(await unknown.request(0))).status, 404);
    const forged = await witness.add(await log.request(405, { by: createLog('log.example/log').signer }));
    assert.equal(forged.status, 403);
    const signatures = (await log.request(405)).split('\n');
    const broken = signatures.map((line) => (line.startsWith('—') ? `${line.slice(0, -6)}AAAA==` : line));
    assert.ok([400, 403].includes((await witness.add(broken.join('\n'))).status));
  });

  it('refuses a second witness with the same state', async () => {
    const second = startInProcess(argsFor(await freePort(), [log.verifierKey]), { env: {}, cwd: folder });
    assert.equal(await second.gone(), 1);
    assert.match(second.stderr(), /another witness uses/);
  });

  it('knows after a restart what it has cosigned, also with the lock of a process that was killed and had its number', async () => {
    await witness.stop();
    writeFileSync(`${files.state}.lock`, `${process.pid}\n`);
    witness = await startWitness([log.verifierKey, other.verifierKey]);
    const { status, text } = await witness.add(await log.request(0));
    assert.deepEqual([status, parseKnownSize(text)], [409, 405]);
  });

  it('refuses a fork for good, also after a restart, and keeps both trees as evidence; other logs go on', async () => {
    const root = leafHash('another tree');
    const fork = await witness.add(await log.request(405, { root, to: 405 }));
    assert.equal(fork.status, 409);
    assert.match(witness.command.stderr(), /FORK: log\.example\/log/);
    await log.grow(['g']);
    assert.equal((await witness.add(await log.request(405))).status, 403);
    const stale = await witness.add(await log.request(0));
    assert.deepEqual([stale.status, parseKnownSize(stale.text)], [409, 405], 'it still says what it knows');
    assert.equal((await witness.add(await log.request(405, { proofFrom: 4 }))).status, 422);
    await witness.stop();
    const { logs } = JSON.parse(readFileSync(files.state, 'utf8'));
    assert.equal(logs['log.example/log'].size, 405);
    assert.match(logs['log.example/log'].fork, /^log\.example\/log\n405\n/);
    witness = await startWitness([log.verifierKey, other.verifierKey]);
    assert.equal((await witness.add(await log.request(405))).status, 403);
    await other.grow(['a']);
    assert.equal((await witness.add(await other.request(0))).status, 200);
  });

  it('of many requests at once with the same old size, those of one tree succeed', async () => {
    await other.grow(['b']);
    const request = await other.request(1);
    const answers = await Promise.all(Array.from({ length: 20 }, () => witness.add(request)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 19);
    await witness.stop();
  });

  it('exits with a message for a state, key, name or log that it cannot use', async () => {
    const bad = join(folder, 'bad');
    const states = [
      '',
      '{}',
      '{"logs":[]}',
      '{"logs":{}}',
      '{"logs":{"a":{"size":-1}}}',
      readFileSync(files.state, 'utf8').slice(0, -5),
    ];
    writeFileSync(bad, 'no JSON');
    const run = async (args: readonly string[]) => {
      const command = startInProcess(args, { env: {}, cwd: folder });
      assert.notEqual(await command.gone(), 0);
      return command.stderr();
    };
    const usual = argsFor(await freePort(), [log.verifierKey], {
      ...files,
      state: join(folder, 'fresh.json'),
    });
    const withValue = (option: string, value: string) =>
      usual.map((word, at) => (usual[at - 1] === option ? value : word));
    assert.match(await run(withValue('--state', bad)), /not the state of a witness; restore it/);
    for (const state of states) {
      const cut = join(folder, 'cut.json');
      writeFileSync(cut, state);
      assert.match(await run(withValue('--state', cut)), /not the state of a witness; restore it/, state);
      assert.equal(readFileSync(cut, 'utf8'), state);
    }
    assert.match(await run(withValue('--key', bad)), /no private key of Ed25519/);
    assert.match(await run(withValue('--name', 'two words')), /--name two words: the name of a key/);
    assert.match(await run(withValue('--log', witness.command.stdout().trim())), /--log .*type 0x04/);
    assert.match(await run(withValue('--port', 'x')), /--port must be a number/);
  });
});

it('killed while it answers, it has on the disk what it has cosigned', async () => {
  const log = createLog('killed.example/log');
  const given = { state: join(folder, 'killed.json'), key: join(folder, 'killed.pem') };
  let cosigned = 0;
  for (let round = 0; round < 3; round += 1) {
    const port = await freePort();
    const program = startCountersign(argsFor(port, [log.verifierKey], given), { HOME: folder }, folder);
    await until('it listens', async () => program.output().includes('cosigning') || undefined);
    const stopAt = 3 + round;
    for (let count = 0; count < stopAt; count += 1) {
      await log.grow([`${round} ${count}`]);
      const body = await log.request(cosigned);
      const answer = await fetch(`http://127.0.0.1:${port}/add-checkpoint`, { method: 'POST', body });
      assert.equal(answer.status, 200, await answer.text());
      cosigned += 1;
    }
    program.kill('SIGKILL');
    await program.gone();
    const { logs } = JSON.parse(readFileSync(given.state, 'utf8'));
    assert.equal(logs['killed.example/log'].size, cosigned);
  }
});
