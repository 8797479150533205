/** `countersign audit verify` with nothing but files: an export, the key set, the key of the log, and the keys of witnesses. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import type { LogProofLine } from '../../sdk/typescript/src/audit/export-lines.ts';
import { formatAddCheckpoint } from '../../sdk/typescript/src/transparency/add-checkpoint.ts';
import {
  formatNote,
  parseNote,
  parseSignatureLines,
  withSignatures,
} from '../../sdk/typescript/src/transparency/note.ts';
import { listen } from '../support/clients/listening.ts';
import { type Run, runCommand } from '../support/command-line.ts';
import { startInProcess } from '../support/commands-in-process.ts';
import { environment, startApp, type TestApp } from '../support/harness.ts';
import { freePort, until } from '../support/programs.ts';
import { recordEvents } from '../support/scenarios/audit-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return name;
};

const AUDIT_LOG_KEY = generateKeyPairSync('ed25519')
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const t = await listen({ AUDIT_LOG_KEY });
const organizationId = t.app.ids.uuid();
const record = async (app: TestApp, events = 3) => {
  await recordEvents(app, organizationId, events);
  await app.app.audit.linkAll();
  await app.app.instanceLog.grow();
};
await record(t);
await record(t);

/** A real witness, as a command; it stays until the test file ends. */
async function startWitness(name: string) {
  const port = await freePort();
  const files = ['--state', `${name}.json`, '--key', `${name}.pem`, '--log', await logKey()];
  const command = startInProcess(['witness', '--port', String(port), '--name', name, ...files], {
    env: {},
    cwd: folder,
  });
  after(async () => {
    command.kill('SIGTERM');
    await command.gone();
  });
  await until('it listens', async () => command.stderr().includes('cosigning') || undefined);
  const cosign = async (note: string): Promise<string> => {
    const body = formatAddCheckpoint({ oldSize: 0, proof: [], note: parseNote(note) });
    const answer = await fetch(`http://127.0.0.1:${port}/add-checkpoint`, { method: 'POST', body });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return formatNote(withSignatures(parseNote(note), parseSignatureLines(text)));
  };
  return { key: command.stdout().trim(), cosign };
}

const textOf = async (path: string) => (await t.call('GET', path)).text;
const logKey = async () => (await textOf('/log/key')).trim();
const key = await logKey();
const witness = await startWitness('witness.example');
const second = await startWitness('zeuge.example');
const download = async (query = `?organizationId=${organizationId}`) =>
  (await t.call('GET', `/api/v1/audit/export${query}`, { token: await t.token() })).text;
const proofIn = (text: string): LogProofLine =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .find(({ kind }) => kind === 'logProof');
const withNote = (text: string, note: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const value = JSON.parse(line);
      return value.kind === 'logProof' ? JSON.stringify({ ...value, checkpoint: note }) : line;
    })
    .join('\n');

const original = await download();
const cosigned = withNote(original, await witness.cosign(proofIn(original).checkpoint));
write('export.jsonl', original);
write('cosigned.jsonl', cosigned);
write('jwks.json', await textOf('/.well-known/jwks.json'));
write('log.key', `${key}\n`);
const verify = (args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
  runCommand(['audit', 'verify', ...args], { env, cwd: folder });
const withFiles = (file: string, ...more: readonly string[]) =>
  verify([file, '--keys', 'jwks.json', ...more]);
const log = ['--log-key', 'log.key'];

describe('countersign audit verify with a file', () => {
  it('intact and witnessed: the cosignature of a real witness; keys as texts or files', async () => {
    const { treeSize } = proofIn(cosigned);
    assert.ok(treeSize >= 2);
    write('witness.key', `# ours\n${witness.key}\n`);
    write(
      'witnesses',
      `${witness.key} https://witness.example\n${second.key} https://zeuge.example\nquorum 1\n`,
    );
    for (const given of [
      ['--witness', witness.key],
      ['--witness', 'witness.key'],
      ['--witness', 'witnesses'],
      ['--witness', witness.key, '--witness', second.key, '--quorum', '1'],
    ]) {
      const { code, stdout } = await withFiles('cosigned.jsonl', ...log, ...given);
      assert.match(
        stdout,
        /^The export is intact and witnessed at \d{4}-\d\d-\d\dT[\d:]+\.000Z by witness\.example: 6 events in 1 chain\.\n/,
      );
      assert.equal(code, 0);
    }
  });

  it('intact, without a word of witnesses, when none are named; and events newer than the checkpoint are counted', async () => {
    for (const more of [[], log, ['--log-key', key]]) {
      const { code, stdout } = await withFiles('cosigned.jsonl', ...more);
      assert.match(stdout, /^The export is intact: 6 events in 1 chain\.\n/);
      assert.equal(code, 0);
    }
    await recordEvents(t, organizationId, 2);
    const later = await download();
    assert.equal(proofIn(later).treeSize, proofIn(cosigned).treeSize);
    write('later.jsonl', withNote(later, proofIn(cosigned).checkpoint));
    const { stdout } = await withFiles('later.jsonl', ...log, '--witness', witness.key);
    assert.match(stdout, /^The export is intact and witnessed at .*: 8 events in 1 chain\./);
    assert.match(stdout, /not witnessed 2 events, newer than the checkpoint of the log/);
  });

  it('LOG_QUORUM_MISSING without the cosignature, and names the witnesses that are absent', async () => {
    const witnesses = ['--witness', witness.key, '--witness', second.key];
    const none = await withFiles('export.jsonl', ...log, ...witnesses);
    assert.deepEqual([none.code, /code +(\w+)/.exec(none.stdout)?.[1]], [1, 'LOG_QUORUM_MISSING']);
    assert.match(none.stdout, /2 more of witness\.example, zeuge\.example/);
    const one = await withFiles('cosigned.jsonl', ...log, ...witnesses);
    assert.match(one.stdout, /1 more of zeuge\.example\n/);
    assert.equal(one.code, 1);
    const withoutProof = original.split('\n').filter((line) => !line.includes('"logProof"'));
    write('without.jsonl', withoutProof.join('\n'));
    assert.match((await withFiles('without.jsonl', ...log)).stdout, /LOG_QUORUM_MISSING/);
    assert.match((await withFiles('without.jsonl')).stdout, /^The export is intact: /);
  });

  it('a compressed file is verified as it is; a damaged or incomplete one is named', async () => {
    const compressed = zstdCompressSync(cosigned);
    write('day.jsonl.zst', compressed);
    const { code, stdout } = await withFiles('day.jsonl.zst', ...log, '--witness', witness.key);
    assert.match(stdout, /^The export is intact and witnessed at /);
    assert.equal(code, 0);
    write('cut.jsonl.zst', compressed.subarray(0, compressed.length - 20));
    write('changed.jsonl.zst', compressed.with(Math.floor(compressed.length / 2), 0));
    for (const file of ['cut.jsonl.zst', 'changed.jsonl.zst']) {
      const broken = await withFiles(file);
      assert.equal(broken.code, 1);
      assert.doesNotMatch(broken.output, /is intact/);
      assert.match(broken.output, /NOT INTACT|damaged or not complete/);
    }
  });

  it('--log-checkpoint: the same one, a fork of its size, and one of another size, which needs --log-url', async () => {
    const note = proofIn(cosigned).checkpoint;
    write('kept.txt', note);
    const kept = ['--log-checkpoint', 'kept.txt'];
    assert.equal((await withFiles('cosigned.jsonl', ...log, ...kept)).code, 0);
    const fork = await startApp({ BASE_URL: t.issuer, AUDIT_LOG_KEY });
    for (let size = 0; size < proofIn(cosigned).treeSize; size += 1) await record(fork, 1);
    write('fork.txt', (await fork.call('GET', '/log/checkpoint')).text);
    const forked = await withFiles('cosigned.jsonl', ...log, '--log-checkpoint', 'fork.txt');
    assert.deepEqual([forked.code, /code +(\w+)/.exec(forked.stdout)?.[1]], [1, 'LOG_FORKED']);
    await record(t);
    write('later.txt', await textOf('/log/checkpoint'));
    const other = ['--log-checkpoint', 'later.txt'];
    const unclear = await withFiles('cosigned.jsonl', ...log, ...other);
    assert.match(unclear.stderr, /add --log-url/);
    assert.equal(unclear.code, 1);
    const compared = await withFiles('cosigned.jsonl', ...log, ...other, '--log-url', `${t.issuer}/log`);
    assert.equal(compared.code, 0, compared.output);
  });

  it('--log-url: LOG_FORKED and LOG_SHORTENED for logs that do not contain the checkpoint', async () => {
    for (const [records, code] of [
      [proofIn(cosigned).treeSize + 3, 'LOG_FORKED'],
      [1, 'LOG_SHORTENED'],
    ] as const) {
      const fork = await startApp({ BASE_URL: t.issuer, AUDIT_LOG_KEY });
      for (let size = 0; size < records; size += 1) await record(fork, 1);
      const url = await fork.app.http.server.listen({ port: 0, host: '127.0.0.1' });
      const found = await withFiles('cosigned.jsonl', ...log, '--log-url', `${url}/log`);
      assert.deepEqual([found.code, /code +(\w+)/.exec(found.output)?.[1]], [1, code], found.output);
    }
    const elsewhere = await withFiles('cosigned.jsonl', ...log, '--log-url', `${t.issuer}/elsewhere`);
    assert.notEqual(elsewhere.code, 0);
    assert.match(elsewhere.stderr, /^countersign: /);
  });

  it('names the option that is wrong, and what to do', async () => {
    write('empty', '');
    write('not.json', '{"keys":[]}');
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['cosigned.jsonl', '--witness', witness.key], /--witness needs --log-key/],
      [['cosigned.jsonl', ...log, '--quorum', '1'], /--quorum is a number/],
      [['cosigned.jsonl', ...log, '--witness', witness.key, '--quorum', '2'], /the quorum is between 1/],
      [['cosigned.jsonl', ...log, '--witness', witness.key, '--quorum', '0'], /--quorum is a number/],
      [['cosigned.jsonl', ...log, '--witness', witness.key, '--witness', witness.key], /of another witness/],
      [['cosigned.jsonl', ...log, '--witness', key], /type 0x01, not 0x04/],
      [['cosigned.jsonl', '--log-key', witness.key], /type 0x04, not 0x01/],
      [['cosigned.jsonl', '--log-key', 'missing.key'], /neither a verifier key nor a file with one/],
      [['cosigned.jsonl', ...log, '--witness', 'empty', '--quorum', '1'], /a quorum needs witnesses/],
      [['cosigned.jsonl', ...log, '--log-checkpoint', 'empty'], /empty is not a checkpoint of the log/],
      [['cosigned.jsonl', ...log, '--log-url', 'x'], /--log-url must be the address of the log/],
    ];
    for (const [args, says] of cases) {
      const { code, stderr, stdout } = await withFiles(args[0] as string, ...args.slice(1));
      assert.match(stderr, says);
      assert.deepEqual([code, stdout], [1, '']);
    }
    assert.match(
      (await verify(['cosigned.jsonl', '--keys', 'not.json'])).stderr,
      /not\.json is not a key set/,
    );
    assert.match((await verify(['cosigned.jsonl'])).stderr, /JWT_PUBLIC_KEY/);
    assert.match((await verify(['--keys', 'jwks.json'])).stderr, /--keys works with an export only/);
  });
});

describe('countersign audit verify with the database', () => {
  const database = (...args: readonly string[]) => verify(args, environment(t.databaseUrl));

  it('intact with the key of the log and a kept checkpoint; LOG_SHORTENED and LOG_FORKED against others', async () => {
    write('now.txt', await textOf('/log/checkpoint'));
    const intact = await database(...log, '--log-checkpoint', 'now.txt');
    assert.match(intact.stdout, /^The audit log is intact: \d+ events in \d+ chains\.\n$/);
    const fork = await startApp({ BASE_URL: t.issuer, AUDIT_LOG_KEY });
    await record(fork, 1);
    write('small.txt', (await fork.call('GET', '/log/checkpoint')).text);
    assert.match((await database(...log, '--log-checkpoint', 'small.txt')).stdout, /code +LOG_FORKED/);
    for (let size = 0; size < 20; size += 1) await record(fork, 1);
    write('large.txt', (await fork.call('GET', '/log/checkpoint')).text);
    assert.match((await database(...log, '--log-checkpoint', 'large.txt')).stdout, /code +LOG_SHORTENED/);
    assert.match((await database(...log, '--witness', witness.key)).stdout, /code +LOG_QUORUM_MISSING/);
  });

  it('another log key, and changed hashes, are found', async () => {
    const other = await startApp({
      BASE_URL: t.issuer,
      AUDIT_LOG_KEY: generateKeyPairSync('ed25519')
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
    });
    await record(other, 1);
    const otherKey = (await other.call('GET', '/log/key')).text.trim();
    assert.match((await database('--log-key', otherKey)).stdout, /code +LOG_CHECKPOINT_NOT_SIGNED/);
    await other.sql(
      `set session_replication_role = replica;
       update instance_log_tiles set hashes = set_byte(hashes, 5, get_byte(hashes, 5) # 1) where level = 0`,
    );
    const changed = await verify(['--log-key', otherKey], environment(other.databaseUrl));
    assert.match(changed.stdout, /code +LOG_PROOF_INVALID/);
  });
});
