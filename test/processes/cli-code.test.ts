/** `login` with a one-time code of the console: the profile, the commands that use it, its end, and `logout`. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from '../../src/commands/client/connection.ts';
import { type Run, startCommandLine } from '../support/command-line.ts';
import { ioFor } from '../support/commands-in-process.ts';
import { newAgent, skipWithout } from '../support/harness.ts';
import { consoleOrigin, fromPage, sessionUrl } from '../support/scenarios/console.ts';
import { hasPty, runOnTerminal } from '../support/terminal.ts';

const { service, operator, folder, run } = await startCommandLine({
  // On plain http, sessions begin on loopback addresses only.
  BASE_URL: consoleOrigin,
  // One line per request.
  LOG_LEVEL: 'debug',
});
const { url } = service;
const { clientId, clientSecret } = operator;

let files = 0;
const newConfig = () => join(folder, `code-${files++}`, 'profiles.json');
const stored = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const send = (method: string, path: string, headers: object, body?: object) =>
  fetch(url + path, {
    method,
    headers: { ...fromPage, ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
/** A browser that has signed in. */
const signIn = async () => {
  const answer = await send('POST', sessionUrl, {}, { clientId, clientSecret });
  return { cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
};
const makeCode = async (browser: object): Promise<string> => {
  const answer = await send('POST', '/console/api/command-line-codes', browser);
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { code: string }).code;
};
const logIn = (file: string, code: string, args: readonly string[] = []) =>
  run(['login', '--url', url, '--code', ...args], {
    env: { COUNTERSIGN_CONFIG: file },
    input: `${code}\n`,
  });
const assertRefused = ({ code, stdout, stderr }: Run, exitCode: number, says: RegExp) => {
  assert.match(stderr, says);
  assert.equal(code, exitCode, stderr);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.equal(stdout, '');
};

describe('login --code', () => {
  it('stores the session with its end, for the owner alone; a command then acts as the agent', async () => {
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    const browser = await signIn();
    const code = await makeCode(browser);
    const answer = await logIn(file, code);
    assert.equal(answer.code, 0, answer.stderr);
    assert.match(answer.stdout, /^Signed in to http\S+ as operator-\S+, until \d{4}-\S+Z\.$/m);
    const { expiresAt } = (await (await send('GET', sessionUrl, browser)).json()) as { expiresAt: string };
    const { session, ...rest } = stored(file).profiles.default;
    assert.deepEqual(rest, { url, expiresAt });
    assert.match(session, /^countersign=[\w-]{43}$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const text of [answer.stdout, answer.stderr, readFileSync(file, 'utf8')])
      assert.ok(!text.includes(code) && !text.includes(clientSecret));
    assert.ok(!answer.stdout.includes(session) && !answer.stderr.includes(session));

    const me = JSON.parse((await run(['whoami', '--json'], { env })).stdout);
    assert.deepEqual(
      [me.agentId, me.profile, me.signInExpiresAt, me.tokenExpiresAt],
      [clientId, 'default', expiresAt, null],
    );
    const shown = await run(['whoami'], { env });
    assert.match(shown.stdout, /^sign-in ends +\d{4}-/m);
    // Requests to the API itself: a change, a list, a stream and a download.
    const email = 'made-by-code@example.com';
    const body = JSON.stringify(newAgent({ email }));
    const created = await run(['api', 'POST', '/agents', '--body', body], { env });
    assert.equal(created.code, 0, created.stderr);
    const agents = await run(['agents', 'list', '--json'], { env });
    assert.ok(agents.stdout.includes(email), agents.stdout + agents.stderr);
    const connection = connect(ioFor(env), { profile: 'default', data: folder });
    const stream = await connection.open('GET', '/events');
    assert.match(stream.headers.get('content-type') ?? '', /event-stream/);
    await stream.body?.cancel();
    const scaffold = await run(['scaffold', clientId, '--out', './project'], { env });
    assert.equal(scaffold.code, 0, scaffold.stderr);
    assert.ok(existsSync(join(folder, 'project/package.json')));
    const listed = await run(['profiles'], { env });
    assert.match(listed.stdout, /^\* default .*signed in from the console until/);
    assert.ok(!listed.stdout.includes(session));
  });

  it('401 for a code that was used, or that is none; nothing is stored', async () => {
    const file = newConfig();
    const code = await makeCode(await signIn());
    assert.equal((await logIn(newConfig(), code)).code, 0);
    for (const wrong of [code, 'csc_wrong'])
      assertRefused(
        await logIn(file, wrong),
        3,
        /answered 401 UNAUTHORIZED: The code was used already.*\(request .+\)/,
      );
    assertRefused(await logIn(file, clientSecret), 2, /^countersign: this is not a one-time code/);
    assert.ok(!existsSync(file));
  });

  it('is asked for on a terminal and not shown', async (t) => {
    if (!hasPty()) return skipWithout(t, 'python3');
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    const browser = await signIn();
    const code = await makeCode(browser);
    const asked = await runOnTerminal(['login', '--url', url, '--code'], {
      env,
      cwd: folder,
      answers: [['one-time code (not shown): ', `${code}\r`]],
    });
    assert.equal(asked.code, 0, asked.screen);
    assert.ok(!asked.screen.includes(code));
    assert.equal(Object.keys(stored(file).profiles).length, 1);
  });

  it('usage: a code is never the value of an option, and not both a code and a client', async () => {
    const env = { COUNTERSIGN_CONFIG: newConfig() };
    for (const args of [
      ['--code', 'csc_x'],
      ['--code', '--client-id', clientId],
    ]) {
      const { code, stderr } = await run(['login', '--url', url, ...args], { env, input: '' });
      assert.notEqual(code, 0);
      assert.notEqual(stderr, '');
    }
    assertRefused(await run(['login', '--url', url, '--code'], { env, input: '' }), 2, /input is empty/);
    const code = `csc_${'x'.repeat(43)}`;
    const says = /a one-time code is not a client id.*give --code/;
    assertRefused(await run(['login', '--url', url, '--client-id', code], { env }), 2, says);
    const inVariable = { ...env, COUNTERSIGN_CLIENT_ID: code };
    assertRefused(await run(['login', '--url', url], { env: inVariable }), 2, says);
    assert.ok(!existsSync(env.COUNTERSIGN_CONFIG));
  });
});

describe('a profile that is a sign-in', () => {
  it('one line after its end, by time and by a sign-out in the browser', async () => {
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    const browser = await signIn();
    await logIn(file, await makeCode(browser), ['--profile', 'work']);
    assert.equal((await send('DELETE', sessionUrl, browser)).status, 204);
    for (const args of [['whoami'], ['scaffold', clientId, '--out', './none']])
      assertRefused(
        await run(args, { env }),
        3,
        /answered 401 .*the sign-in of profile work has ended: run `countersign login --profile work`$/m,
      );
    const profiles = stored(file);
    profiles.profiles.work.expiresAt = '2026-01-01T00:00:00.000Z';
    writeFileSync(file, JSON.stringify(profiles));
    for (const args of [['whoami'], ['scaffold', clientId, '--out', './none']])
      assertRefused(
        await run(args, { env }),
        3,
        /^countersign: the sign-in of profile work ended at 2026-01-01T00:00:00.000Z; run `countersign login --profile work`$/m,
      );
  });

  it('gets no tokens and no links to the console', async () => {
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    await logIn(file, await makeCode(await signIn()));
    assertRefused(
      await run(['token'], { env }),
      4,
      /was signed in from the console and gets no access tokens/,
    );
    assertRefused(await run(['console'], { env }), 4, /was signed in from the console; open http/);
  });

  it('logout ends it on the server and leaves the browser signed in', async () => {
    const file = newConfig();
    const env = { COUNTERSIGN_CONFIG: file };
    const browser = await signIn();
    await logIn(file, await makeCode(browser));
    const { session: cookie } = stored(file).profiles.default;
    assert.equal((await send('GET', sessionUrl, { cookie })).status, 200);
    const { code, stderr } = await run(['logout'], { env });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /ended on the server/);
    assert.deepEqual(stored(file).profiles, {});
    assert.equal((await send('GET', sessionUrl, { cookie })).status, 401);
    assert.equal((await send('GET', sessionUrl, browser)).status, 200);
  });

  it('logout removes it without its server, and says when it ends', async () => {
    const file = newConfig();
    await logIn(file, await makeCode(await signIn()));
    const profiles = stored(file);
    profiles.profiles.default.url = 'http://127.0.0.1:9';
    writeFileSync(file, JSON.stringify(profiles));
    const { code, stderr } = await run(['logout'], { env: { COUNTERSIGN_CONFIG: file } });
    assert.equal(code, 6, stderr);
    assert.match(stderr, /could not be ended on the server \(cannot reach .*it ends at \d{4}-/);
    assert.deepEqual(stored(file).profiles, {});
  });

  it('a new login of the same profile ends the session before', async () => {
    const file = newConfig();
    const browser = await signIn();
    await logIn(file, await makeCode(browser));
    const { session: cookie } = stored(file).profiles.default;
    await logIn(file, await makeCode(browser));
    assert.equal((await send('GET', sessionUrl, { cookie })).status, 401);
  });

  it('no code and no session is in the log of the server', () => {
    const output = service.log();
    assert.match(output, /console\/api\/session/);
    assert.doesNotMatch(output, /csc_|countersign=/);
  });
});
