/** The Python SDK: built as a wheel, installed into a fresh environment, checked with its own tools, and run against a server. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';
import { pythonOf, type RequestOf } from '../../console/src/api/request-text.ts';
import { chainSentences } from '../../sdk/typescript/src/audit/findings.ts';
import { runSync, succeed } from '../support/child-process.ts';
import { clientOf, listen, listenForApprovals } from '../support/clients/listening.ts';
import { runCommand } from '../support/command-line.ts';
import { skipWithout } from '../support/harness.ts';
import { startReceiver, trustTestAuthority } from '../support/peers/receivers.ts';
import { findProgram, freePort, until } from '../support/programs.ts';
import { createTrustClient } from '../support/scenarios/trust.ts';
import type { AuditExportCase } from '../support/sdk/export-changes.ts';

const sdk = fileURLToPath(new URL('../../sdk/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'countersign-sdk-python-'));
after(() => rmSync(folder, { recursive: true, force: true }));
/** A copy, so that the tools write nothing into the checkout. Without `src`: the tests import the installed wheel. */
const project = join(folder, 'sdk', 'python');
const python = join(folder, '.venv', 'bin', 'python');
const timeout = 600_000;
const isMissing = !findProgram('python3');

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const variables = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env };
  return succeed(command, args, { cwd: project, env: variables, timeout });
}

/** The wheel with all its extras, once. */
async function install(): Promise<void> {
  const source = join(folder, 'source');
  cpSync(join(sdk, 'python'), source, { recursive: true });
  mkdirSync(project, { recursive: true });
  for (const name of ['pyproject.toml', 'README.md', 'tests'])
    cpSync(join(source, name), join(project, name), { recursive: true });
  copyFileSync(join(sdk, 'vectors.json'), join(folder, 'sdk', 'vectors.json'));
  copyFileSync(join(sdk, '..', 'openapi.json'), join(folder, 'openapi.json'));
  const ofGo = 'typescript/test/transparency';
  mkdirSync(join(folder, 'sdk', ofGo), { recursive: true });
  copyFileSync(join(sdk, ofGo, 'vectors.json'), join(folder, 'sdk', ofGo, 'vectors.json'));
  await run('python3', ['-m', 'venv', join(folder, '.venv')]);
  const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check'];
  await run(python, [...pip, 'wheel', '--no-deps', '--wheel-dir', folder, source]);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
  assert.ok(wheel, 'there is a wheel');
  await run(python, [...pip, 'install', `${join(folder, wheel)}[dev]`]);
}

let installed: Promise<void> | undefined;
const test = (title: string, work: (t: TestContext) => Promise<void>) =>
  it(title, { timeout }, async (t) => {
    if (isMissing) return skipWithout(t, 'python3');
    installed ??= install();
    await installed;
    await work(t);
  });

/** A server with a webhook delivery and agents. Returns a function that writes them into a file for the tests. */
async function prepareServer(): Promise<() => Promise<string>> {
  const logKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const t = await listen({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', AUDIT_LOG_KEY: logKey.toString() });
  trustTestAuthority();
  const receiver = await startReceiver();
  const token = await t.token();
  const payload = { name: 'SDK', url: receiver.url, events: ['agent.created'] };
  const { signingSecret } = (await t.call('POST', '/api/v1/webhooks', { token, payload })).json;
  const delivery = await until('a delivery', async () => {
    await t.agent();
    await t.app.deliveries.drain();
    return receiver.received[0];
  });
  // Signals wake the polls that wait.
  t.app.loops.start();
  const { privateKey, clientId } = await clientOf(t);
  const { createPolicy } = await createTrustClient(t);
  const policy = await createPolicy({ audiences: [t.issuer] });
  const settings = {
    issuer: t.issuer,
    organizationId: t.operator.organizationId,
    clientId: t.operator.clientId,
    clientSecret: t.operator.clientSecret,
    keyAgent: {
      clientId,
      keyId: 'client-key',
      pem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    },
    delivery: { body: delivery.body, headers: delivery.headers, secret: signingSecret },
    nonces: await prepareNonces(),
    ports: await Promise.all(Array.from({ length: 8 }, freePort)),
  };
  const approvals = await prepareApprovals();
  const file = join(folder, 'server.json');
  return async () => {
    // A moment before they are used: they are valid for a few minutes, and the installation can take longer.
    const tokens = [await policy.sign({ aud: t.issuer }), await policy.sign({ aud: t.issuer })];
    await t.app.audit.linkAll();
    await t.app.instanceLog.grow();
    writeFileSync(
      file,
      JSON.stringify({ ...settings, approvals, workload: { clientId: policy.agentId, tokens } }),
    );
    return file;
  };
}

/** A server that demands its nonces in proofs. */
async function prepareNonces() {
  const { issuer, operator } = await listen({ DPOP_REQUIRE_NONCE: 'true' });
  const { organizationId, clientId, clientSecret } = operator;
  return { issuer, organizationId, clientId, clientSecret };
}

/** An agent that asks, and an address at which its person decides: `POST /<approvalId>` with the decision. */
async function prepareApprovals() {
  const { t, issuer, organizationId, api, asker, member, decide } = await listenForApprovals();
  const { agent, clientId } = await asker({ allowedScopes: [] });
  const reader = await t.agent({ allowedScopes: ['tokens:read'] });
  const person = await member();
  const decider = createServer(async (request, response) => {
    const decision = JSON.parse(await text(request));
    const { status } = await decide(person.browser, String(request.url).slice(1), decision);
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(decider, 'listening');
  after(() => decider.close().closeAllConnections());
  return {
    ...{ issuer, organizationId, clientId, clientSecret: agent.clientSecret },
    reader: { clientId: reader.clientId, clientSecret: reader.clientSecret },
    resource: api.identifier,
    personId: person.personId,
    decider: `http://127.0.0.1:${(decider.address() as AddressInfo).port}`,
  };
}

// Not in a test: what a test starts ends with the test.
const writeSettings = isMissing ? undefined : await prepareServer();

describe('the Python SDK', { timeout: 3 * timeout }, () => {
  test('has types (mypy --strict) and passes the linter', async () => {
    const source = join(folder, 'source');
    await run(python, ['-m', 'ruff', 'check', '--no-cache', source]);
    await run(python, ['-m', 'ruff', 'format', '--no-cache', '--check', source]);
    const checked = [join(source, 'src'), join(source, 'tests')];
    const config = join(source, 'pyproject.toml');
    const cache = join(folder, 'mypy');
    await run(python, ['-m', 'mypy', '--config-file', config, '--cache-dir', cache, ...checked], {
      MYPYPATH: join(source, 'tests'),
    });
  });

  test('refuses wrong names, wrong keys and fields that may be absent (mypy, Pyright)', async () => {
    const programs = join(project, 'tests', 'typed_programs.py');
    const mypy = ['-m', 'mypy', '--config-file', join(project, 'pyproject.toml')];
    await run(python, [...mypy, '--cache-dir', join(folder, 'mypy-installed'), programs]);
    await run(python, ['-m', 'basedpyright', '--project', project, '--pythonpath', python]);
    const text = readFileSync(programs, 'utf8');
    const mistakes = text.split('\n').filter((line) => /# (type|pyright): ignore/.test(line));
    assert.ok(mistakes.length > 10);
    writeFileSync(programs, text.replaceAll(/ *# (type|pyright): ignore.*/g, ''));
    const options = { cwd: project, timeout };
    const { stdout } = runSync(
      python,
      [...mypy, '--cache-dir', join(folder, 'mypy-installed'), programs],
      options,
    );
    assert.match(stdout, /Unexpected keyword argument "state" for "list_agents"/);
    assert.match(stdout, /TypedDict "Agent" has no key "nam"/);
    const found = runSync(
      python,
      ['-m', 'basedpyright', '--project', project, '--pythonpath', python],
      options,
    ).stdout;
    assert.match(found, /"lastTokenDate" is not a required key/);
  });

  test('passes the vectors, refuses hostile servers, and works with a real one', async (t) => {
    assert.ok(writeSettings);
    const env = { COUNTERSIGN_TEST_SERVER: await writeSettings() };
    const output = await run(python, ['-m', 'pytest', '--quiet', '-rs'], env);
    assert.doesNotMatch(output, /skipped|SKIPPED/, output);
    t.diagnostic(output.trim().split('\n').at(-1) ?? '');
  });

  test('a request that the console copies as Python is a program, with types', async () => {
    assert.ok(writeSettings);
    const { issuer, clientId, clientSecret } = JSON.parse(readFileSync(await writeSettings(), 'utf8'));
    const programs = copied.map((one, index) => {
      const file = join(project, `copied_${index}.py`);
      writeFileSync(file, pythonOf(one(clientId), issuer));
      return file;
    });
    const mypy = ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy-installed')];
    await run(python, [...mypy, ...programs]);
    const env = { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
    const outputs: string[] = [];
    for (const file of programs) outputs.push(await run(python, [file], env));
    assert.match(outputs[0] ?? '', new RegExp(clientId));
    assert.match(outputs[1] ?? '', /'owner': 'it\\'s “new”'|"it's “new”"/);
    assert.match(outputs[2] ?? '', /"kind":/);
    assert.equal(readFileSync(join(project, 'agent.zip')).subarray(0, 2).toString(), 'PK');
  });

  test('has the sentences of the TypeScript SDK for the findings of an export', async () => {
    const program =
      'import json; from countersign.audit_findings import *; print(json.dumps([SENTENCES, NO_LOG_PROOF]))';
    const [sentences, noLogProof] = JSON.parse(await run(python, ['-c', program]));
    const placeholders = new Proxy({}, { get: (_, name) => placeholder(String(name)) });
    const templates = Object.entries(chainSentences).map(([code, sentence]) => [
      code,
      code === 'EXTERNAL_CHECKPOINT_MISSING' ? chainSentences[code]({}) : sentence(placeholders as never),
    ]);
    assert.deepEqual(sentences, Object.fromEntries(templates));
    assert.equal(noLogProof, chainSentences.LOG_QUORUM_MISSING({ absent: [] }));
  });

  test('`python -m countersign audit verify` prints what `countersign audit verify` prints', async () => {
    const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
      readFileSync(join(sdk, 'vectors.json'), 'utf8'),
    );
    for (const name of [
      'with events that are newer than the checkpoint of the log',
      'a day',
      'one of two witnesses has cosigned',
      'two links were swapped',
      'the last line of a day is not signed',
    ]) {
      const { lines, jwks, log, valid } = auditExports.find((each) => each.name === name) as AuditExportCase;
      writeFileSync(join(project, 'export.jsonl.zst'), zstdCompressSync(lines.join('\n')));
      writeFileSync(join(project, 'jwks.json'), JSON.stringify(jwks));
      const trust = log ? ['--log-key', log.key, ...log.witnesses.flatMap((key) => ['--witness', key])] : [];
      const args = ['audit', 'verify', 'export.jsonl.zst', '--keys', 'jwks.json', ...trust];
      const ours = await runCommand(args, { env: {}, cwd: project });
      const { status, stdout, stderr } = runSync(python, ['-m', 'countersign', ...args], {
        cwd: project,
        timeout,
      });
      assert.deepEqual([name, status, stdout, stderr], [name, ours.code, ours.stdout, ours.stderr]);
      assert.equal(status, valid ? 0 : 1);
    }
  });

  test('docs/operations/audit-archive.md: a file, its keys and either program are enough', async () => {
    const page = readFileSync(join(sdk, '../docs/operations/audit-archive.md'), 'utf8');
    const [ofNode = '', ofPython = ''] = ['npx --no-install', 'python -m'].map(
      (program) => new RegExp(`^ *${program} countersign (.*)$`, 'm').exec(page)?.[1],
    );
    assert.match(ofPython, /^audit verify /);
    const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
      readFileSync(join(sdk, 'vectors.json'), 'utf8'),
    );
    const day = auditExports.find(({ name }) => name === 'a day, with two witnesses') as AuditExportCase;
    const place = mkdtempSync(join(folder, 'auditor-'));
    for (const [name, content] of [
      ['15.jsonl.zst', zstdCompressSync(day.lines.join('\n'))],
      ['jwks.json', JSON.stringify(day.jwks)],
      ['log.key', String(day.log?.key)],
      ['witness.key', String(day.log?.witnesses.join('\n'))],
    ] as const)
      writeFileSync(join(place, name), content);
    const theirs = runSync('bash', ['-c', `python -m countersign ${ofPython}`], {
      cwd: place,
      env: { PATH: `${join(python, '..')}:${process.env.PATH}` },
      timeout,
    });
    assert.match(
      theirs.stdout,
      /^The export is intact and witnessed at \S+ by .+, .+: \d+ events in 1 chain\.$/m,
    );
    assert.equal(theirs.status, 0);
    const ours = await runCommand(ofNode.split(' '), { env: {}, cwd: place });
    assert.deepEqual([ours.code, ours.stdout], [0, theirs.stdout]);
  });

  test('both programs find the same in files that are damaged, or made to be read differently', async () => {
    const { auditExports }: { auditExports: readonly AuditExportCase[] } = JSON.parse(
      readFileSync(join(sdk, 'vectors.json'), 'utf8'),
    );
    const { lines, jwks } = auditExports.find(({ name }) => name === 'a day') as AuditExportCase;
    writeFileSync(join(project, 'jwks.json'), JSON.stringify(jwks));
    const args = ['audit', 'verify', 'broken.jsonl.zst', '--keys', 'jwks.json'];
    for (const [name, content, expected] of brokenFiles(lines)) {
      writeFileSync(join(project, 'broken.jsonl.zst'), content);
      const ours = await runCommand(args, { env: {}, cwd: project });
      const theirs = runSync(python, ['-m', 'countersign', ...args], { cwd: project, timeout });
      assert.deepEqual([name, theirs.stdout], [name, ours.stdout]);
      for (const output of [ours.output, `${theirs.stdout}${theirs.stderr}`])
        assert.match(output, expected, name);
      assert.deepEqual([name, theirs.status === 0], [name, ours.code === 0]);
    }
  });
});

const copied: readonly ((agentId: string) => RequestOf)[] = [
  () => ({ operation: 'listAgents', input: { query: { limit: 100, order: 'asc' } } }),
  (agentId) => ({ operation: 'updateAgent', input: { params: { agentId }, body: { owner: "it's “new”" } } }),
  () => ({ operation: 'exportAudit', input: {} }),
  (agentId) => ({ operation: 'scaffoldAgent', input: { params: { agentId }, query: { language: 'go' } } }),
  () => ({ operation: 'getUsage', input: { query: { from: '2030-01-01', to: '2030-01-02' } } }),
];

/** Files of the archive, and what is found in them. */
function brokenFiles(lines: readonly string[]): readonly (readonly [string, Uint8Array, RegExp])[] {
  const text = `${lines.join('\n')}\n`;
  const whole = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const skippable = Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0), Buffer.from('xx')]);
  const changed = (at: number) => {
    const bytes = Buffer.from(whole);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return bytes;
  };
  const [intact, damaged, invalid] = [
    /^The export is intact: /,
    /broken\.jsonl\.zst is damaged or not complete: /,
    /EXPORT_LINE_INVALID/,
  ];
  return [
    ['whole', whole, intact],
    ['without compression', Buffer.from(text), intact],
    [
      'two frames',
      Buffer.concat([text.slice(0, 900), text.slice(900)].map((part) => zstdCompressSync(part))),
      intact,
    ],
    ['a frame without content at the end', Buffer.concat([whole, skippable]), intact],
    [
      'compressed again',
      zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
      intact,
    ],
    ['a byte more', Buffer.concat([whole, Buffer.of(0)]), damaged],
    ['a text after the end', Buffer.concat([whole, Buffer.from('{"kind":"end"}\n')]), damaged],
    ['the beginning of a frame after the end', Buffer.concat([whole, whole.subarray(0, 3)]), damaged],
    ['a part of a frame after the end', Buffer.concat([whole, whole.subarray(0, 40)]), damaged],
    ['without its last byte', whole.subarray(0, -1), damaged],
    ['half of it', whole.subarray(0, whole.length / 2), damaged],
    ['a changed byte', changed(whole.length >> 1), damaged],
    ['a changed checksum', changed(whole.length - 1), damaged],
    ['twice', Buffer.concat([whole, whole]), /EXPORT_CONTINUES/],
    ['nothing', Buffer.alloc(0), /EXPORT_TRUNCATED/],
    ['a frame without content', zstdCompressSync(''), /EXPORT_TRUNCATED/],
    ['another format', Buffer.of(0x1f, 0x8b, 8, 0), invalid],
    ['a byte order mark', zstdCompressSync(`\ufeff${text}`), invalid],
    ['UTF-16', zstdCompressSync(Buffer.from(text, 'utf16le')), invalid],
    [
      'bytes that are no text',
      zstdCompressSync(Buffer.concat([Buffer.from(text), Buffer.of(0xff)])),
      invalid,
    ],
    [
      'bytes that are no text, without compression',
      Buffer.concat([Buffer.from(text), Buffer.of(0xc3, 0x28)]),
      invalid,
    ],
    ['two carriage returns', zstdCompressSync(`${text}\r\r\n`), invalid],
    ['a line of 20 MB', zstdCompressSync(`${lines[0]}\n${' '.repeat(20_000_000)}`), invalid],
    ['a million empty lines', zstdCompressSync(`${lines[0]}${'\n'.repeat(1_000_000)}`), invalid],
    ['a line of brackets', zstdCompressSync(`${lines[0]}\n${'['.repeat(1_000_000)}\n`), invalid],
  ];
}

/** As Python's templates write it; a list of names is joined. */
const placeholder = (name: string) => Object.assign(`{${name}}`, { join: () => `{${name}}` });
