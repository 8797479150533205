/** The generated commands against a server: changes, lists, pages, tables, files, questions and refusals. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { succeed } from '../support/child-process.ts';
import { type Run, startCommandLine } from '../support/command-line.ts';
import { skipWithout } from '../support/harness.ts';
import { startPeer } from '../support/peers/http-peer.ts';
import { authorize, freePort } from '../support/programs.ts';
import { hasPty, runOnTerminal } from '../support/terminal.ts';

const { service, operator, folder, asOperator, run } = await startCommandLine();
const headers = { ...(await authorize(service.url, operator)), 'content-type': 'application/json' };

/** The answer as JSON; the command must succeed. */
async function json<T = Record<string, unknown>>(args: readonly string[], input?: string): Promise<T> {
  const result = await run([...args, '--json'], input === undefined ? {} : { input });
  assert.equal(result.code, 0, result.stderr);
  return JSON.parse(result.stdout) as T;
}

function assertRefused({ code, stdout, stderr }: Run, exitCode: number, says: RegExp): void {
  assert.match(stderr, says);
  assert.equal(code, exitCode, stderr);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.equal(stdout, '');
}

const esc = '\u001b';
let agents = 0;
const createAgent = ['agents', 'create', '--agent-type', 'custom', '--version', '1.0.0', '--owner', 'team'];
const newAgent = () => [
  ...createAgent,
  '--deployment-env',
  'staging',
  '--capabilities',
  'a:read,b:read',
  '--email',
  `agent-${agents++}@example.com`,
];

let agentId = '';
before(async () => {
  ({ agentId } = await json<{ agentId: string }>(newAgent()));
});

describe('changes', () => {
  it('an agent is created, read, updated, suspended, reactivated and decommissioned', async () => {
    const { agentId: id } = await json<{ agentId: string }>(newAgent());
    assert.equal((await json(['agents', 'update', id, '--owner', 'other'])).owner, 'other');
    assert.equal((await json(['agents', 'suspend', id])).status, 'suspended');
    assert.equal((await json(['agents', 'reactivate', id])).status, 'active');
    assertRefused(await run(['agents', 'decommission', id]), 2, /cannot be undone.*no terminal.*give --yes/);
    assertRefused(await run(['agents', 'update', id, '--status', 'decommissioned']), 2, /give --yes/);
    assert.equal((await json(['agents', 'get', id])).status, 'active');
    const { code, stdout } = await run(['agents', 'decommission', id, '--yes']);
    assert.deepEqual([code, stdout], [0, 'Done.\n']);
    assert.equal((await json(['agents', 'get', id])).status, 'decommissioned');
  });

  it('a new client secret is printed once, with a warning on standard error', async () => {
    const { code, stdout, stderr } = await run(['credentials', 'create', agentId, '--name', 'ci']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^clientSecret +\S+$/m);
    assert.match(stderr, /Store clientSecret now, in a safe place: it is not shown again/);
    const { stdout: listed } = await run(['credentials', 'list', agentId]);
    assert.match(listed, /^credentialId .*\n\S+ .* ci /);
    assert.doesNotMatch(listed, /clientSecret/);
  });

  it('a resource, a grant and a token for it', async () => {
    const identifier = 'https://billing.example.com';
    const resource = await json<{ resourceId: string }>([
      ...['resources', 'create', '--identifier', identifier, '--name', 'Billing'],
      ...['--scopes', 'invoices:read,invoices:write'],
    ]);
    await json(['grants', 'set', operator.clientId, resource.resourceId, '--scopes', 'invoices:read']);
    const claims = await run(['token', '--resource', identifier, '--decode']);
    const { aud, scope } = JSON.parse(claims.stdout);
    assert.deepEqual([[aud].flat(), scope], [[identifier], 'invoices:read']);
    const { stdout: token } = await run(['token']);
    writeFileSync(join(folder, 'token.txt'), token);
    assert.equal((await json(['tokens', 'introspect', '--token-file', 'token.txt'])).active, true);
    assert.equal((await json(['tokens', 'introspect', '--token-file', '-'], token)).active, true);
    assert.equal((await run(['tokens', 'revoke', '--token-file', 'token.txt', '--yes'])).code, 0);
    assert.equal((await json(['tokens', 'introspect', '--token-file', 'token.txt'])).active, false);
  });

  it('a body comes from a file or from standard input; flags count more', async () => {
    const body = {
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['a:b'],
      owner: 'file',
      deploymentEnv: 'staging',
    };
    const created = await json(
      ['agents', 'create', '--body', '-', '--email', 'stdin@example.com', '--owner', 'flag'],
      JSON.stringify(body),
    );
    assert.deepEqual([created.email, created.owner], ['stdin@example.com', 'flag']);
    const repeated = ['agents', 'create', '--body', JSON.stringify({ ...body, email: 'key@example.com' })];
    const first = await json([...repeated, '--idempotency-key', 'one']);
    assert.deepEqual(await json([...repeated, '--idempotency-key', 'one']), first);
  });

  it('api sends any request', async () => {
    const { stdout } = await run(['api', 'GET', '/agents', '--query', 'limit=1', '--query', 'owner=team']);
    assert.equal(JSON.parse(stdout).data.length, 1);
    const patched = await run(['api', 'patch', `/api/v1/agents/${agentId}`, '--body', '{"owner":"team"}']);
    assert.equal(JSON.parse(patched.stdout).owner, 'team');
    assertRefused(await run(['api', 'BREW', '/agents']), 2, /BREW is not a method/);
    assertRefused(await run(['api', 'GET', '/nowhere']), 5, /answered 404 ROUTE_NOT_FOUND: .*\(request .+\)/);
    assertRefused(await run(['api', 'DELETE', `/agents/${agentId}`]), 2, /no terminal to ask on; give --yes/);
    assertRefused(await run(['api', 'DELETE', '/nowhere', '--yes']), 5, /answered 404 ROUTE_NOT_FOUND/);
    const asked: (string | undefined)[] = [];
    const peer = await startPeer((request, response) => {
      asked.push(request.url);
      response.setHeader('content-type', 'application/json').end('{"access_token":"x"}');
    });
    await run(['api', 'GET', '/x?a=0', '--query', 'a=1', '--query', 'a=2'], {
      env: { ...asOperator, COUNTERSIGN_URL: peer },
    });
    assert.equal(asked[1], '/api/v1/x?a=0&a=1&a=2');
    const events = await run(['api', 'GET', '/usage/export']);
    assert.match(events.stdout, /^\w+(,\w+)+\r?\n/);
  });
});

describe('output', () => {
  before(async () => {
    const bodies = Array.from({ length: 205 }, (_, index) => ({
      email: `page-${index}@example.com`,
      agentType: 'monitor',
      version: '1.0.0',
      capabilities: ['a:b'],
      owner: index === 0 ? 'red \u001b[31m\u202e日本' : 'pages',
      deploymentEnv: 'development',
    }));
    for (const body of bodies) {
      const response = await fetch(`${service.url}/api/v1/agents`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 201);
    }
  });

  it('--all reads all pages; without it a note says how many there are', async () => {
    const all = await json<{ data: { email: string }[]; total: number }>([
      'agents',
      'list',
      '--agent-type',
      'monitor',
      '--all',
    ]);
    assert.equal(new Set(all.data.map(({ email }) => email)).size, 205);
    assert.equal(all.total, 205);
    const page = await run(['agents', 'list', '--agent-type', 'monitor']);
    assert.match(page.stderr, /^20 of 205; --all shows the rest\.$/m);
    assert.equal(page.stdout.trimEnd().split('\n').length, 21);
  });

  it('a pipe gets aligned text without colours, in full', async () => {
    const { stdout } = await run(['agents', 'list', '--owner', 'pages', '--limit', '3']);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    assert.match(head, /^agentId +organizationId +email .* createdAt +updatedAt$/);
    const column = head.indexOf('email');
    for (const row of rows) assert.match(row.slice(column), /^page-\d+@example\.com /);
    const chosen = await run(['agents', 'list', '--limit', '1', '--columns', 'email,owner']);
    assert.match(chosen.stdout, /^email +owner\n/);
    assertRefused(
      await run(['agents', 'list', '--columns', 'mail']),
      2,
      /there is no column mail; there are agentId, /,
    );
  });

  it('a terminal gets a table of its width, and text of tenants cannot control it', async (t) => {
    if (!hasPty()) return skipWithout(t, 'python3');
    const list = ['agents', 'list', '--agent-type', 'monitor', '--all'];
    const { code, screen } = await runOnTerminal(list, { env: asOperator, cwd: folder, columns: 90 });
    assert.equal(code, 0, screen);
    assert.ok(screen.includes(`${esc}[1magentId`), screen);
    const rows = screen.split('\r\n').filter((line) => line.includes('@example.com'));
    assert.equal(rows.length, 205);
    for (const row of rows) assert.ok([...row].length <= 90, row);
    const ours = [`${esc}[1m`, `${esc}[22m`, `${esc}[K`];
    const theirs = ours.reduce((text, code) => text.replaceAll(code, ''), screen);
    assert.ok(!theirs.includes(esc) && !theirs.includes('\u202e'));
    assert.match(screen, /200 of 205/);
    const narrow = await run(['agents', 'list', '--limit', '5'], {
      env: { ...asOperator, NO_COLOR: '1' },
      columns: 80,
    });
    assert.match(narrow.output, /^agentId +email .*status *\n[0-9a-f-]{36} {2}\S+@/, narrow.output);
    const plain = await run(['agents', 'list', '--limit', '1'], {
      env: { ...asOperator, NO_COLOR: '1' },
      columns: 100,
    });
    assert.ok(!plain.output.includes(`${esc}[1m`), plain.output);
  });

  it('JSON stays JSON, and carries no character that controls a terminal', async () => {
    const { stdout } = await run(['agents', 'list', '--q', 'page-0@', '--json']);
    assert.equal(JSON.parse(stdout).data[0].owner, 'red \u001b[31m\u202e日本');
    assert.ok(!stdout.includes(esc) && !stdout.includes('\u202e'));
  });

  it('exports go to a file of the owner, or to standard output', async () => {
    const file = join(folder, 'audit.jsonl');
    const { code, stdout, stderr } = await run(['audit', 'download', '--output', file]);
    assert.deepEqual([code, stdout], [0, ''], stderr);
    assert.match(stderr, /\d+ bytes written to /);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const direct = await run(['audit', 'download']);
    assert.ok(direct.stdout.split('\n').length > 100);
    for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) JSON.parse(line);
    assertRefused(
      await run(['audit', 'download', '--output', '/nowhere/x']),
      1,
      /cannot write \/nowhere\/x: ENOENT/,
    );
    const csv = await run(['usage', 'export', '--format', 'csv']);
    assert.match(csv.stdout, /^\w+(,\w+)+\r?\n/);
  });

  it('one entry is shown field by field; an empty list says so', async () => {
    const { stdout } = await run(['agents', 'get', agentId]);
    assert.match(stdout, new RegExp(`^agentId +${agentId}$`, 'm'));
    assert.match(stdout, /^capabilities +a:read, b:read$/m);
    const none = await run(['webhooks', 'list']);
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'There are none.\n']);
    const usage = await run(['usage', 'get']);
    assert.match(usage.stdout, /^organizationId +\S+$/m);
    assert.match(usage.stdout, /^totals\.api_calls +\d+$/m);
    assertRefused(await run(['agents', 'list', '--all', '--output', 'x']), 2, /--output writes one answer/);
    assert.equal((await json<{ version: string }>(['instance'])).version.length > 0, true);
  });

  it('a pipe that is closed early is no error', async (t) => {
    if (!existsSync('/bin/sh')) return skipWithout(t, 'sh');
    const { bin } = await import('../support/programs.ts');
    const out = await succeed(
      '/bin/sh',
      ['-c', `"$0" "$1" audit list --all 2>&1 | head -1`, process.execPath, bin],
      { env: { PATH: process.env.PATH, HOME: folder, ...asOperator }, cwd: folder },
    );
    assert.match(out, /^eventId /);
  });
});

describe('questions', () => {
  it('a destructive command asks on a terminal, and does nothing unless the answer is yes', async () => {
    const { agentId: id } = await json<{ agentId: string }>(newAgent());
    const answer = (text: string) => run(['agents', 'decommission', id], { answers: [['[y/N] ', text]] });
    const no = await answer('\r');
    assert.equal(no.code, 1, no.output);
    assert.match(no.output, /Decommission an agent for good \(\/agents\/.*\)\? \[y\/N\]/);
    assert.match(no.output, /cancelled; nothing was changed/);
    assert.equal((await answer('\u0003')).code, 130);
    assert.equal((await json(['agents', 'get', id])).status, 'active');
    assert.equal((await answer('y\r')).code, 0);
    assert.equal((await json(['agents', 'get', id])).status, 'decommissioned');
  });
});

describe('people and their connections', () => {
  const client = ['--name', 'Login', '--issuer', 'https://idp.example.com', '--client-id'];
  let orgId = '';
  before(async () => {
    orgId = String((await json(['agents', 'get', agentId])).organizationId);
  });

  it('a client secret is asked for, or comes from a file or standard input, and is shown nowhere', async () => {
    const create = (clientId: string) => ['connections', 'create', orgId, ...client, clientId];
    const typed = await run(create('typed'), { answers: [['client secret (not shown): ', 'hush-1\r']] });
    assert.equal(typed.code, 0, typed.output);
    assert.match(typed.output, /^connectionId /m);
    const file = join(folder, 'provider-secret.txt');
    writeFileSync(file, 'hush-2\n');
    const { connectionId } = await json<{ connectionId: string }>([
      ...create('filed'),
      '--client-secret-file',
      file,
    ]);
    const update = ['connections', 'update', orgId, connectionId, '--client-secret-file', '-'];
    const updated = await run([...update, '--json'], { input: 'hush-3\n' });
    assert.equal(updated.code, 0, updated.stderr);
    const list = await run(['connections', 'list', orgId, '--json']);
    assert.doesNotMatch(`${typed.output}${updated.output}${list.output}`, /hush/);
    assert.equal((await json(['connections', 'disable', orgId, connectionId])).status, 'disabled');
    assert.equal((await json(['connections', 'enable', orgId, connectionId])).status, 'active');

    assertRefused(await run(create('none')), 2, /--client-secret-file is required/);
    const empty = await run(create('none'), { answers: [['client secret (not shown): ', '\r']] });
    assert.equal(empty.code, 2, empty.output);
    assert.match(empty.output, /the client secret is missing/);
    const unnamed = await run(['connections', 'create', orgId, '--name', 'x'], { answers: [] });
    assert.match(unnamed.output, /--issuer is required/, 'before it asks for the secret');
    const argument = await run([...create('none'), '--client-secret', 'hush-4']);
    assertRefused(argument, 2, /there is no option --client-secret, .* --client-secret-file/);
    assert.doesNotMatch(argument.output, /hush/);
  });

  it('a person is invited by e-mail, suspended after a question, activated and removed', async () => {
    const { connectionId } = await json<{ connectionId: string }>(
      ['connections', 'create', orgId, ...client, 'people', '--client-secret-file', '-'],
      'secret',
    );
    const email = ['--email', 'ada@example.com', '--connection-id', connectionId];
    const invited = await json(['people', 'invite', orgId, '--name', 'Ada', '--role', 'member', ...email]);
    const ids = [orgId, String(invited.personId)];
    assert.equal(invited.agentId, null);
    assertRefused(await run(['people', 'suspend', ...ids]), 2, /cannot be undone.*give --yes/);
    assertRefused(await run(['people', 'update', ...ids, '--status', 'suspended']), 2, /give --yes/);
    assert.equal((await json(['people', 'suspend', ...ids, '--yes'])).status, 'suspended');
    assert.equal((await json(['people', 'activate', ...ids])).status, 'active');
    assert.equal((await run(['people', 'remove', ...ids, '--yes'])).code, 0);
    const { data } = await json<{ data: unknown[] }>(['people', 'list', orgId, '--role', 'member']);
    assert.deepEqual(data, []);
  });

  it('the client policy is read and set', async () => {
    assert.deepEqual(await json(['client-policy', 'get', orgId]), { mode: 'any', domains: [] });
    const set = ['client-policy', 'set', orgId, '--mode', 'domains', '--domains', 'example.com,example.org'];
    assert.deepEqual(await json(set), { mode: 'domains', domains: ['example.com', 'example.org'] });
    assertRefused(
      await run(['client-policy', 'set', orgId, '--mode', 'all']),
      2,
      /--mode must be one of any,/,
    );
    assert.equal((await json(['client-policy', 'set', orgId, '--mode', 'any'])).mode, 'any');
  });
});

describe('refusals are one line with an exit code', () => {
  it('of the command line: wrong commands, flags and values', async () => {
    assertRefused(await run(['dev', '--port', 'x']), 2, /port/i);
    assertRefused(await run(['scaffold', 'not-a-uuid', '--out', 'x']), 5, /no agent not-a-uuid/);
    assertRefused(
      await run(['agnets']),
      2,
      /unknown command 'agnets'; did you mean agents\? See countersign --help/,
    );
    assertRefused(
      await run(['agents', 'lst']),
      2,
      /unknown command 'lst'; did you mean list\? See countersign agents --help/,
    );
    assertRefused(
      await run(['agents', 'list', '--statsu', 'x']),
      2,
      /unknown option '--statsu'; did you mean --status\?/,
    );
    assertRefused(
      await run(['tokens', 'introspect', '--token', 'x']),
      2,
      /there is no option --token, .* --token-file .* See countersign tokens introspect --help/,
    );
    const secret = await run(['login', '--client-secret=hidden']);
    assertRefused(secret, 2, /there is no option --client-secret, .* --secret-stdin\. See/);
    assert.ok(!secret.stderr.includes('hidden'));
    assertRefused(await run(['agents', 'get']), 2, /missing required argument 'agentId'/);
    assertRefused(await run(['approvals', 'show', 'x']), 2, /approvalId must be a UUID/);
  });

  it('a group without a verb shows its help, with code 2; help takes the words of a command', async () => {
    const group = await run(['agents']);
    assert.deepEqual([group.code, group.stdout], [2, '']);
    assert.match(group.stderr, /^Usage: countersign agents /);
    const help = await run(['help', 'agents', 'list']);
    assert.deepEqual([help.code, help.stderr], [0, '']);
    assert.match(help.stdout, /^Usage: countersign agents list /);
    assert.match((await run(['help', 'agents'])).stdout, /^Usage: countersign agents /);
    for (const words of [
      ['help', 'agents', 'lst'],
      ['agents', 'lst', '--help'],
    ])
      assertRefused(await run(words), 2, /unknown command 'lst'; did you mean list\?/);
    assertRefused(await run(['help', 'agnets']), 2, /unknown command 'agnets'; did you mean agents\?/);
  });

  it('of the server: the field, the request id, and an exit code for each kind', async () => {
    const missing = crypto.randomUUID();
    assertRefused(
      await run(['agents', 'get', missing]),
      5,
      /answered 404 AGENT_NOT_FOUND: .*\(request .+\)$/m,
    );
    const taken = [
      ...createAgent,
      '--deployment-env',
      'staging',
      '--capabilities',
      'a:b',
      '--email',
      'agent-0@example.com',
    ];
    assertRefused(await run(taken), 1, /answered 409 AGENT_ALREADY_EXISTS/);
    const { clientSecret } = await json<{ clientSecret: string }>(['credentials', 'create', agentId]);
    const asAgent = {
      ...asOperator,
      COUNTERSIGN_CLIENT_ID: agentId,
      COUNTERSIGN_CLIENT_SECRET: clientSecret,
    };
    assertRefused(await run(['instance', 'get'], { env: asAgent }), 4, /answered 403 INSUFFICIENT_SCOPE/);
    const wrong = { ...asOperator, COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' };
    assertRefused(await run(['agents', 'list'], { env: wrong }), 3, /401 invalid_client/);
  });

  it('of no server, and of a server that is not ours', async () => {
    const away = { ...asOperator, COUNTERSIGN_URL: `http://127.0.0.1:${await freePort()}` };
    assertRefused(await run(['agents', 'list'], { env: away }), 6, /cannot reach http/);
    const page = createServer((request, response) => {
      if (request.url === '/api/v1/token') response.end('{"access_token":"x"}');
      else if (request.url === '/api/v1/webhooks') response.end('{"data":[null,1,"x",{"a":{}}],"total":4}');
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>');
    }).listen(0, '127.0.0.1');
    await once(page, 'listening');
    after(() => page.close());
    const env = {
      ...asOperator,
      COUNTERSIGN_URL: `http://127.0.0.1:${(page.address() as AddressInfo).port}`,
    };
    assertRefused(
      await run(['agents', 'list'], { env }),
      1,
      /sent no JSON \(text\/html\); is it the address of Countersign\?/,
    );
    assertRefused(
      await run(['webhooks', 'list'], { env }),
      1,
      /sent rows that are no objects; is it the addr/,
    );
    assertRefused(await run(['agents', 'list'], { env: {} }), 3, /no credentials: run `countersign login`/);
  });
});
