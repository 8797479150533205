/** `countersign scaffold` as a command, and its archive read by other programs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { strToU8, zipSync } from 'fflate';
import { unpack } from '../../src/adapters/zip.ts';
import { unpackLimits } from '../../src/commands/client/scaffold.ts';
import { succeedSync } from '../support/child-process.ts';
import { runCommand } from '../support/command-line.ts';
import { createDatabase, environment, newAgent, skipWithout } from '../support/harness.ts';
import { authorize, findProgram, freePort } from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-command-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const env = environment(await createDatabase());
const { url, operator } = await startServerInProcess(env);
const headers = { ...(await authorize(url, operator)), 'content-type': 'application/json' };
const registered = await fetch(`${url}/api/v1/agents`, {
  method: 'POST',
  headers,
  body: JSON.stringify(newAgent()),
});
const { agentId } = (await registered.json()) as { agentId: string };
const account = ['--url', url, '--client-id', operator.clientId, '--secret-stdin'];

function scaffold(args: readonly string[], variables: Record<string, string> = {}) {
  const input = args.includes('--secret-stdin') ? operator.clientSecret : undefined;
  return runCommand(['scaffold', ...args], { env: variables, cwd: folder, input });
}

async function refusal(args: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const { code, output } = await scaffold(args, variables);
  assert.ok(Number(code) >= 1, output);
  assert.match(output, /^countersign: /m);
  assert.doesNotMatch(output, /^ +at /m, 'no stack');
  assert.ok(!output.includes(operator.clientSecret), 'no secret');
  return output;
}

describe('countersign scaffold', () => {
  it('writes the project and prints the next steps', async () => {
    const { code, output } = await scaffold([
      agentId,
      '--language',
      'go',
      '--out',
      'new/project',
      ...account,
    ]);
    assert.equal(code, 0, output);
    assert.match(output, /\d+ files written to new\/project\. Next:/);
    assert.match(output, /go run \./);
    const written = readdirSync(join(folder, 'new/project'));
    for (const name of ['.env.example', '.github', '.gitignore', 'go.mod', 'main.go'])
      assert.ok(written.includes(name), name);
    assert.match(
      readFileSync(join(folder, 'new/project/.env.example'), 'utf8'),
      new RegExp(`^CLIENT_ID=${agentId}$`, 'm'),
    );
  });

  it('reads the credentials from the environment, or from the file of dev', async () => {
    const { clientId, clientSecret } = operator;
    const variables = {
      COUNTERSIGN_URL: `${url}/`,
      COUNTERSIGN_CLIENT_ID: clientId,
      COUNTERSIGN_CLIENT_SECRET: clientSecret,
    };
    assert.equal((await scaffold([agentId, '--out', 'by-environment'], variables)).code, 0);
    mkdirSync(join(folder, '.countersign'));
    const admin = JSON.stringify({ baseUrl: url, clientId, clientSecret });
    writeFileSync(join(folder, '.countersign/admin.json'), admin);
    const { code, output } = await scaffold([agentId, '--out', 'by-dev']);
    assert.equal(code, 0, output);
    assert.ok(readdirSync(join(folder, 'by-dev')).includes('package.json'));
    rmSync(join(folder, '.countersign'), { recursive: true });
    assert.match(await refusal([agentId, '--out', 'empty']), /no credentials: run `countersign login`/);
  });

  it('sends the credentials of dev to the address of dev only', async () => {
    const asked: string[] = [];
    const other = createServer((request, response) => {
      request.on('data', (chunk) => asked.push(String(chunk)));
      request.on('end', () => response.writeHead(401).end());
    });
    await once(other.listen(0, '127.0.0.1'), 'listening');
    after(() => other.close());
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { clientId, clientSecret } = operator;
    mkdirSync(join(folder, 'dev-data'));
    const admin = JSON.stringify({ baseUrl: url, clientId, clientSecret });
    writeFileSync(join(folder, 'dev-data/admin.json'), admin);
    const args = [agentId, '--out', 'elsewhere', '--data', 'dev-data'];
    const refused = /no credentials for http:\/\/127\.0\.0\.1:\d+: .*those in .* are for/;
    assert.match(await refusal([...args, '--url', elsewhere]), refused);
    assert.match(await refusal([...args, '--url', elsewhere, '--client-id', clientId]), refused);
    assert.match(await refusal(args, { COUNTERSIGN_URL: elsewhere }), refused);
    assert.deepEqual(asked, []);
    assert.equal((await scaffold([...args, '--url', `${url}/`])).code, 0);
  });

  it('refuses a folder that is not empty, unless forced', async () => {
    mkdirSync(join(folder, 'full'));
    writeFileSync(join(folder, 'full/mine.txt'), 'mine');
    const args = [agentId, '--language', 'rust', '--out', 'full', ...account];
    assert.match(await refusal(args), /is not empty; choose another folder, or use --force/);
    assert.deepEqual(readdirSync(join(folder, 'full')), ['mine.txt']);
    assert.equal((await scaffold([...args, '--force'])).code, 0);
    assert.equal(readFileSync(join(folder, 'full/mine.txt'), 'utf8'), 'mine');
    assert.ok(readdirSync(join(folder, 'full')).includes('Cargo.toml'));
  });

  it('reports errors in one line', async () => {
    const byOption = [agentId, '--out', 'x', '--client-secret', operator.clientSecret];
    assert.match(await refusal(byOption), /there is no option --client-secret.*give --secret-stdin/);
    const wrong = { COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' };
    assert.match(
      await refusal([agentId, '--out', 'x', ...account.slice(0, -1)], wrong),
      /answered 401 invalid_client: /,
    );
    const away = `http://127.0.0.1:${await freePort()}`;
    const cases: [string[], RegExp][] = [
      [['not-a-uuid', '--out', 'x', ...account], /there is no agent not-a-uuid that this account can see/],
      [[crypto.randomUUID(), '--out', 'x', ...account], /answered 404 AGENT_NOT_FOUND: /],
      [
        [agentId, '--out', 'x', '--language', 'cobol', ...account],
        /answered 400 VALIDATION_ERROR: language must be one of/,
      ],
      [[agentId, '--out', 'x', ...account, '--url', away], /cannot reach http:\/\/127\.0\.0\.1/],
      [[agentId, '--out', 'x', ...account, '--url', 'ftp://x'], /not the address of a server/],
      [[agentId, '--out', join(folder, 'full/mine.txt'), ...account], /cannot write to /],
    ];
    for (const [args, says] of cases) assert.match(await refusal(args), says);
  });

  describe('with a hostile server', () => {
    /** Issues a token, unless `token` is given, and then answers as the test wants. */
    async function refusalBy(
      respond: (response: ServerResponse) => void,
      token = '{"access_token":"x"}',
    ): Promise<string> {
      const server = createServer((request, response) => {
        if (request.url === '/api/v1/token') response.end(token);
        else respond(response);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      try {
        return await refusal([agentId, '--out', 'evil', ...account, '--url', other]);
      } finally {
        server.close();
      }
    }
    const refusalOf = (archive: Uint8Array) => refusalBy((response) => void response.end(archive));
    const refusalWith = (error: object) =>
      refusalBy((response) => void response.writeHead(400).end(JSON.stringify(error)));
    afterEach(() => assert.ok(!readdirSync(folder).some((name) => name === 'outside' || name === 'evil')));

    it('writes nothing outside the folder', async () => {
      for (const path of ['../outside', 'a/../../outside', '/tmp/outside', 'a\\..\\b', 'C:x', 'a//b']) {
        const archive = zipSync({ 'fine.txt': strToU8('x'), [path]: strToU8('x') });
        assert.match(await refusalOf(archive), /file with an unsafe name/);
      }
    });

    it('refuses an archive with a file too large, a total too large, or too many files', async () => {
      const mebibyte = new Uint8Array(1024 * 1024);
      const many = (count: number, content: Uint8Array) =>
        Object.fromEntries(Array.from({ length: count }, (_, at) => [`file-${at}`, content]));
      const cases: [Uint8Array, RegExp][] = [
        [zipSync({ bomb: new Uint8Array(32 * 1024 * 1024) }), /a file of more than 1048576 bytes/],
        [zipSync(many(9, mebibyte)), /unpacks to more than 8388608 bytes/],
        [zipSync(many(501, strToU8(''))), /more than 500 files/],
      ];
      for (const [archive, says] of cases) {
        assert.ok(archive.length < 1024 * 1024, `${archive.length} bytes are sent`);
        assert.match(await refusalOf(archive), says);
      }
    });

    it('refuses an endless response', async () => {
      let sent = 0;
      const output = await refusalBy((response) => {
        const more = () => {
          while (!response.destroyed) {
            sent += 65_536;
            if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
          }
        };
        more();
      });
      assert.match(output, /longer than 1048576 bytes/);
      assert.ok(sent < 100 * 1024 * 1024, `${sent} bytes were sent`);
    });

    it('prints no control characters or extra lines from the server', async () => {
      const evil = 'first\u001b[2J\u009b31m\u0007\u202egpj.exe\r\ncountersign: all is well\u2028\u200b\u007f';
      const outputs = [
        await refusalWith({ code: evil, message: evil }),
        await refusalOf(zipSync({ [evil]: strToU8('x') })),
      ];
      for (const output of outputs) {
        assert.match(output, /first\\u\{001b\}\[2J\\u\{009b\}31m\\u\{0007\}\\u\{202e\}gpj\.exe\\u\{000d\}/);
        assert.doesNotMatch(output.trimEnd(), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }
      const long = await refusalWith({ code: 'LONG', message: 'x'.repeat(100_000) });
      assert.ok(long.length < 1_000, `${long.length} characters`);
    });

    it('refuses a malformed token', async () => {
      for (const token of ['', '{', 'null', '{}', '{"access_token":"a\\r\\nb"}', '\u001b[2J'])
        assert.match(await refusalBy(() => {}, token), /sent no (access token|JSON)/, token);
    });
  });
});

it('unpacking an archive uses no more memory than the archive declares', async () => {
  const archive = zipSync({ bomb: new Uint8Array(32 * 1024 * 1024) });
  const view = new DataView(archive.buffer, archive.byteOffset, archive.length);
  const centralDirectory = view.getUint32(archive.length - 6, true);
  assert.equal(view.getUint32(centralDirectory + 24, true), 32 * 1024 * 1024);
  view.setUint32(centralDirectory + 24, 10, true);
  const before = process.memoryUsage().arrayBuffers;
  const [file] = await unpack(archive, unpackLimits);
  assert.ok((file?.bytes.buffer.byteLength ?? 0) <= 10);
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024);
});

it('Python zipfile reads an archive, with permissions and without errors', async (t) => {
  if (!findProgram('python3')) return skipWithout(t, 'python3');
  const answer = await fetch(`${url}/api/v1/sdk/scaffold/${agentId}?language=java`, { headers });
  const file = join(folder, 'archive.zip');
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  const script = `import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
for entry in archive.infolist():
    assert entry.external_attr >> 16 == 0o100644, entry
    assert entry.date_time == (1980, 1, 1, 0, 0, 0), entry
print(len(archive.namelist()))`;
  assert.ok(Number(succeedSync('python3', ['-c', script, file])) > 10);
});
