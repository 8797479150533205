/** Several commands in one process: each has its own variables, streams and exit code. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type CommandOptions, startInProcess } from '../../test/support/commands-in-process.ts';
import { startPeer } from '../../test/support/peers/http-peer.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-main-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function run(args: readonly string[], options: Partial<CommandOptions> = {}) {
  const command = startInProcess(args, { env: {}, cwd: folder, ...options });
  return { code: await command.gone(), stdout: command.stdout(), stderr: command.stderr() };
}

const bold = '\u001b[1m';
const agents = await startPeer((request, response) =>
  response
    .setHeader('content-type', 'application/json')
    .end(
      request.url === '/api/v1/token'
        ? '{"access_token":"x"}'
        : '{"data":[{"agentId":"1","email":"a@example.com"}],"total":1,"page":1,"limit":20}',
    ),
);
const account = {
  COUNTERSIGN_URL: agents,
  COUNTERSIGN_CLIENT_ID: 'id',
  COUNTERSIGN_CLIENT_SECRET: 'secret',
};

it('a terminal and NO_COLOR count for their own command only, also at the same time', async () => {
  const list = ['agents', 'list'];
  const [terminal, pipe, plain] = await Promise.all([
    run(list, { env: account, columns: 80 }),
    run(list, { env: account }),
    run(list, { env: { ...account, NO_COLOR: '1' }, columns: 80 }),
  ]);
  assert.deepEqual(
    [terminal, pipe, plain].map(({ code, stdout }) => [code, stdout.includes(bold)]),
    [
      [0, true],
      [0, false],
      [0, false],
    ],
  );
});

it('each command has its own variables, and those of the process stay as they are', async () => {
  const before = { ...process.env };
  const profiles = (name: string) => {
    const file = join(folder, `${name}.json`);
    const profile = { url: agents, clientId: 'id', clientSecret: 'secret' };
    writeFileSync(file, JSON.stringify({ current: name, profiles: { [name]: profile } }), { mode: 0o600 });
    return run(['profiles'], { env: { COUNTERSIGN_CONFIG: file } });
  };
  const [one, two] = [await profiles('one'), await profiles('two')];
  assert.match(one.stdout, /^\* one /);
  assert.match(two.stdout, /^\* two /);
  assert.equal((await run(['whoami'])).code, 3, 'no account is left over');
  assert.deepEqual({ ...process.env }, before);
});

it('returns an exit code, and leaves that of the process', async () => {
  const codes = [];
  for (const args of [['completion', 'ksh'], ['--version'], ['agnets'], ['keys', '--kind', 'x']])
    codes.push((await run(args)).code);
  assert.deepEqual(codes, [2, 0, 2, 1]);
  assert.equal(process.exitCode, undefined);
});

it('help has the width of the terminal that it goes to', async () => {
  const widest = async (columns?: number) => {
    const { code, stdout, stderr } = await run(['serve', '--help'], columns ? { columns } : {});
    assert.deepEqual([code, stderr], [0, '']);
    return Math.max(...stdout.split('\n').map((line) => line.length));
  };
  assert.ok((await widest(90)) <= 90);
  assert.ok((await widest(200)) > 100);
});
