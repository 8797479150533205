/** `login`, `logout`, `profiles`, `whoami` and `token`, and which account a command uses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Run, startCommandLine } from '../support/command-line.ts';
import { skipWithout } from '../support/harness.ts';
import { freePort } from '../support/programs.ts';
import { hasPty, runOnTerminal } from '../support/terminal.ts';

const { service, operator, folder, asOperator, run } = await startCommandLine();
const { url } = service;
const { clientId, clientSecret } = operator;

let files = 0;
const newConfig = () => join(folder, `config-${files++}`, 'profiles.json');
const modeOf = (path: string) => statSync(path).mode & 0o777;
const stored = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const logIn = (file: string, args: readonly string[] = [], secret = clientSecret) =>
  run(['login', '--url', url, '--client-id', clientId, '--secret-stdin', ...args], {
    env: { COUNTERSIGN_CONFIG: file },
    input: `${secret}\n`,
  });
const assertRefused = ({ code, stderr }: Run, exitCode: number, says: RegExp) => {
  assert.match(stderr, says);
  assert.equal(code, exitCode, stderr);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.doesNotMatch(stderr, /^ +at /m);
  assert.ok(!stderr.includes(clientSecret));
};
/** A server that keeps what it gets, and refuses it. */
async function startOther() {
  const sent: string[] = [];
  const other = createServer((request, response) => {
    request.on('data', (chunk) => sent.push(String(chunk)));
    request.on('end', () => response.writeHead(401).end());
  });
  await once(other.listen(0, '127.0.0.1'), 'listening');
  after(() => other.close());
  return { elsewhere: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, sent };
}

describe('login', () => {
  it('stores a profile that works, in a file and a folder for the owner alone', async () => {
    const home = join(folder, 'home');
    mkdirSync(home);
    const { code, stdout, stderr } = await run(
      ['login', '--url', `${url}/`, '--client-id', clientId, '--secret-stdin'],
      { env: { HOME: home }, input: clientSecret },
    );
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(`Signed in to ${url} as ${clientId}`), stdout);
    const file = join(home, '.config/countersign/profiles.json');
    assert.deepEqual([modeOf(file), modeOf(join(home, '.config/countersign'))], [0o600, 0o700]);
    assert.deepEqual(stored(file), {
      current: 'default',
      profiles: { default: { url, clientId, clientSecret } },
    });
    assert.ok(!`${stdout}${stderr}`.includes(clientSecret));
    const me = await run(['whoami', '--json'], { env: { HOME: home } });
    assert.equal(JSON.parse(me.stdout).profile, 'default');
    const elsewhere = await run(['profiles'], { env: { XDG_CONFIG_HOME: join(home, '.config') } });
    assert.match(elsewhere.stdout, /^\* default /);
  });

  it('asks on a terminal, and shows everything but the secret', async (t) => {
    if (!hasPty()) return skipWithout(t, 'python3');
    const file = newConfig();
    const { code, screen } = await runOnTerminal(['login', '--profile', 'typed', '--client-id', clientId], {
      env: { COUNTERSIGN_CONFIG: file },
      cwd: folder,
      answers: [
        ['address of the server: ', `${url}\r`],
        ['client secret (not shown): ', `${clientSecret.slice(0, -1)}x\u007f${clientSecret.slice(-1)}\r`],
      ],
    });
    assert.equal(code, 0, screen);
    assert.ok(screen.includes(clientId) && !screen.includes(clientSecret.slice(0, 8)), screen);
    assert.deepEqual(stored(file).profiles.typed, { url, clientId, clientSecret });
  });

  it('ends with 130 on Ctrl-C at a question, and stores nothing', async (t) => {
    if (!hasPty()) return skipWithout(t, 'python3');
    const file = newConfig();
    const { code, screen } = await runOnTerminal(['login', '--url', url, '--client-id', clientId], {
      env: { COUNTERSIGN_CONFIG: file },
      answers: [['client secret (not shown): ', 'abc\u0003']],
    });
    assert.equal(code, 130, screen);
    assert.ok(!existsSync(file) && !screen.includes('abc'));
  });

  it('stores nothing when the server refuses the secret, is unreachable, or is another one', async () => {
    const file = newConfig();
    assertRefused(
      await logIn(file, [], 'cs_wrong'),
      3,
      /answered 401 invalid_client: .*\(request .+\).*secret is wrong/,
    );
    const away = `http://127.0.0.1:${await freePort()}`;
    assertRefused(await logIn(file, ['--url', away]), 6, /cannot reach http.*no server listens there/);
    const page = createServer((_, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>'),
    ).listen(0, '127.0.0.1');
    await once(page, 'listening');
    after(() => page.close());
    const other = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    assertRefused(
      await logIn(file, ['--url', other]),
      5,
      /answered 404 with a web page; is it the address of Countersign\?/,
    );
    assertRefused(await logIn(file, ['--url', 'id.example.com']), 2, /must start with http/);
    const plain = ['--url', 'http://id.invalid'];
    assertRefused(await logIn(file, plain), 2, /is plain http.*use https, or give --insecure-http/);
    assertRefused(await logIn(file, [...plain, '--insecure-http']), 6, /cannot reach http:\/\/id\.invalid/);
    assertRefused(await logIn(file, ['--profile', '../x']), 2, /cannot name a profile/);
    assert.ok(!existsSync(file));
  });

  it('takes the address of the API for that of its server, and says so', async () => {
    const file = newConfig();
    const { code, stderr } = await logIn(file, ['--url', `${url}/api/v1/`]);
    assert.equal(code, 0, stderr);
    assert.ok(stderr.startsWith(`The address of the server is ${url}: /api/v1 is left out.\n`), stderr);
    assert.equal(stored(file).profiles.default.url, url);
  });

  it('names the server that an answer redirects to, without the path of the request', async () => {
    const file = newConfig();
    const targets = ['https://new.example/api/v1/token', '/elsewhere'];
    const moved = createServer((_, response) =>
      response.writeHead(301, { location: targets.shift() }).end(),
    ).listen(0, '127.0.0.1');
    await once(moved, 'listening');
    after(() => moved.close());
    const there = ['--url', `http://127.0.0.1:${(moved.address() as AddressInfo).port}`];
    assertRefused(await logIn(file, there), 1, /redirects to https:\/\/new\.example; use that address$/m);
    assertRefused(
      await logIn(file, there),
      1,
      /redirects to \/elsewhere; is it the address of Countersign\?/,
    );
  });

  it('without a terminal it names the option that is missing', async () => {
    const env = { COUNTERSIGN_CONFIG: newConfig() };
    assertRefused(await run(['login'], { env }), 2, /address of the server is missing.*--url/);
    const withoutId = await run(['login', '--url', url, '--secret-stdin'], { env, input: clientSecret });
    assertRefused(withoutId, 2, /client id is missing.*--client-id/);
    assertRefused(await run(['login', '--url', url, '--client-id', clientId], { env }), 2, /--secret-stdin/);
    const empty = await run(['login', '--url', url, '--client-id', clientId, '--secret-stdin'], {
      env,
      input: '\n',
    });
    assertRefused(empty, 2, /standard input is empty/);
  });

  it('refuses a client id of another form before anything is sent, and says where the right one is', async () => {
    const { elsewhere, sent } = await startOther();
    const env = { COUNTERSIGN_CONFIG: newConfig() };
    const logInAs = (id: string) =>
      run(['login', '--url', elsewhere, '--client-id', id, '--secret-stdin'], { env, input: clientSecret });
    const place = /on the page of the agent under Identity, and `countersign agents list` lists it/;
    for (const id of ['ada@acme.example', 'x', `${clientId}0`, 'http://app.example.com/client.json'])
      for (const says of [/ is not a client id, which is a UUID such as /, place])
        assertRefused(await logInAs(id), 2, says);
    const ofDocument = await logInAs('https://app.example.com/client.json');
    assertRefused(ofDocument, 2, /a client with a metadata document, which has no client secret/);
    assertRefused(ofDocument, 2, place);
    assert.deepEqual(sent, []);
    assert.ok(!existsSync(env.COUNTERSIGN_CONFIG));
  });

  it('keeps all profiles of commands that run at the same time', async () => {
    const file = newConfig();
    const names = ['a', 'b', 'c', 'd'];
    for (const { code, stderr } of await Promise.all(names.map((name) => logIn(file, ['--profile', name]))))
      assert.equal(code, 0, stderr);
    assert.deepEqual(Object.keys(stored(file).profiles).sort(), names);
    assert.equal(modeOf(file), 0o600);
  });
});

describe('profiles', () => {
  it('lists them without secrets, and changes the current one; logout removes one', async () => {
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    await logIn(file, ['--profile', 'one']);
    await logIn(file, ['--profile', 'two']);
    const listed = await run(['profiles'], { env });
    assert.match(listed.stdout, /^ {2}one .*\n\* two /);
    assert.ok(!listed.stdout.includes(clientSecret));
    assert.equal((await run(['profiles', 'use', 'one'], { env })).code, 0);
    const rows = JSON.parse((await run(['profiles', 'list', '--json'], { env })).stdout);
    assert.deepEqual(rows[0], { name: 'one', current: true, url, clientId });
    assertRefused(await run(['profiles', 'use', 'three'], { env }), 5, /there is no profile three/);
    assert.equal((await run(['logout'], { env })).code, 0);
    assert.deepEqual(Object.keys(stored(file).profiles), ['two']);
    assert.equal(stored(file).current, 'two');
    assertRefused(await run(['logout', '--profile', 'one'], { env }), 5, /there is no profile one/);
  });

  it('closes a file that others can read, and says so; a damaged file is refused', async () => {
    const file = newConfig();
    await logIn(file);
    chmodSync(file, 0o644);
    const { code, stderr } = await run(['whoami'], { env: { COUNTERSIGN_CONFIG: file } });
    assert.equal(code, 0);
    assert.match(stderr, /was open to other users of this machine/);
    assert.equal(modeOf(file), 0o600);
    const env = { COUNTERSIGN_CONFIG: file };
    for (const [text, says] of [
      ['[]', /holds no profiles; repair it/],
      ['{"profiles":{"default":{"url":1}}}', /holds no profiles; repair it/],
      ['{', /profiles\.json is not valid JSON; repair it/],
    ] as const) {
      writeFileSync(file, text);
      assertRefused(await run(['whoami'], { env }), 1, says);
    }
    const complete = await run(['whoami'], { env: { ...env, ...asOperator } });
    assert.deepEqual([complete.code, complete.stderr], [0, ''], 'it is not read when it is not needed');
  });
});

describe('a command uses', () => {
  const wrong = { COUNTERSIGN_CLIENT_ID: clientId, COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' };

  it('the environment before the current profile, the profile before dev, and a named profile first', async () => {
    const file = newConfig();
    const config = { COUNTERSIGN_CONFIG: file };
    await logIn(file);
    const data = join(folder, '.countersign');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'admin.json'), JSON.stringify({ baseUrl: 'http://127.0.0.1:9', ...wrong }));
    const whoami = (args: string[], env: Record<string, string>) =>
      run(['whoami', '--json', ...args], { env });
    assert.equal(JSON.parse((await whoami([], config)).stdout).profile, 'default');
    assertRefused(await whoami([], { ...config, ...wrong, COUNTERSIGN_URL: url }), 3, /invalid_client/);
    assert.equal(
      JSON.parse((await whoami(['--profile', 'default'], { ...config, ...wrong })).stdout).profile,
      'default',
    );
    assert.equal(JSON.parse((await whoami([], { ...config, ...asOperator })).stdout).profile, null);
    assertRefused(await whoami(['--profile', 'none'], config), 3, /there is no profile none/);
    writeFileSync(join(data, 'admin.json'), JSON.stringify({ baseUrl: url, clientId, clientSecret }));
    assert.equal(JSON.parse((await whoami([], {})).stdout).profile, null);
    assert.equal(JSON.parse((await whoami(['--data', './.countersign'], config)).stdout).profile, null);
  });

  it('the secret of a profile for its own server only', async () => {
    const file = newConfig();
    await logIn(file);
    const { elsewhere, sent } = await startOther();
    const env = { COUNTERSIGN_CONFIG: file };
    assertRefused(
      await run(['whoami', '--url', elsewhere], { env }),
      3,
      /no credentials for .*those of the profile default are for/,
    );
    assertRefused(
      await run(['whoami', '--url', elsewhere, '--profile', 'default'], { env }),
      2,
      /the profile default is for/,
    );
    assert.deepEqual(sent, []);
  });

  it('credentials of the environment at an address of the environment or of --url only', async () => {
    const { elsewhere, sent } = await startOther();
    const data = join(folder, '.countersign');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'admin.json'), JSON.stringify({ baseUrl: elsewhere }));
    const file = newConfig();
    await logIn(file);
    const changed = stored(file);
    changed.profiles.default.url = elsewhere;
    writeFileSync(file, JSON.stringify(changed));
    const { COUNTERSIGN_URL: _, ...credentials } = asOperator;
    const says = /address of the server is missing.*COUNTERSIGN_URL or give --url/;
    assertRefused(await run(['whoami'], { env: credentials }), 2, says);
    assertRefused(await run(['whoami'], { env: { ...credentials, COUNTERSIGN_CONFIG: file } }), 2, says);
    const id = { COUNTERSIGN_CLIENT_ID: clientId };
    assertRefused(await run(['whoami'], { env: { ...id, COUNTERSIGN_CONFIG: file } }), 2, says);
    assert.deepEqual(sent, []);
    assert.equal((await run(['whoami', '--url', url], { env: credentials })).code, 0);
  });

  it('a profile whose secret was revoked: one line that says how to go on', async () => {
    const file = newConfig();
    await logIn(file);
    const broken = stored(file);
    broken.profiles.default.clientSecret = 'cs_revoked';
    writeFileSync(file, JSON.stringify(broken));
    assertRefused(
      await run(['whoami'], { env: { COUNTERSIGN_CONFIG: file } }),
      3,
      /invalid_client.*the profile default is wrong, revoked or expired: run `countersign login --profile default`/,
    );
  });
});

describe('whoami and token', () => {
  it('whoami shows identity, organization, scopes, server and expiry', async () => {
    const { code, stdout } = await run(['whoami']);
    assert.equal(code, 0);
    for (const line of [
      new RegExp(`^server +${url}$`, 'm'),
      new RegExp(`^agent +operator-\\S+ \\(${clientId}\\)$`, 'm'),
      /^organization +Operator \(\S+\)$/m,
      /^scopes +.*admin:orgs/m,
      /^token expires +\d{4}-/m,
    ])
      assert.match(stdout, line);
  });

  it('token prints a token alone on standard output, or its claims', async () => {
    const { stdout, stderr } = await run(['token']);
    const response = await fetch(`${url}/api/v1/agents`, {
      headers: { authorization: `Bearer ${stdout.trim()}` },
    });
    assert.equal(response.status, 200);
    assert.match(stderr, /^valid for \d+ seconds/);
    const decoded = await run(['token', '--scope', 'agents:read', '--decode', '--json']);
    const { scope, client_id, access_token } = JSON.parse(decoded.stdout);
    assert.deepEqual([scope, client_id, access_token], ['agents:read', clientId, undefined]);
    assert.equal(JSON.parse((await run(['token', '--json'])).stdout).token_type, 'Bearer');
    assertRefused(await run(['token', '--scope', 'no:such']), 1, /answered 400 \w+: invalid scope/);
  });
});
