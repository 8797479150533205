/** `login` through a browser: the address, the answer on a loopback port, and who can give it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startCommandLine } from '../support/command-line.ts';
import { type RunningCommand, startInProcess } from '../support/commands-in-process.ts';
import { until } from '../support/programs.ts';
import { consoleOrigin, fromPage, sessionUrl } from '../support/scenarios/console.ts';

const { service, operator, folder, run } = await startCommandLine({ BASE_URL: consoleOrigin });
const { url } = service;
const { clientId, clientSecret } = operator;

const opened = join(folder, 'opened.txt');
const BROWSER = join(folder, 'browser.sh');
writeFileSync(BROWSER, `#!/bin/sh\nprintf %s "$1" > ${opened}\n`);
chmodSync(BROWSER, 0o755);

let files = 0;
const newConfig = () => join(folder, `browser-${files++}`, 'profiles.json');

interface Waiting {
  readonly command: RunningCommand;
  readonly config: string;
  readonly address: URL;
  readonly callback: (answer: Record<string, string>) => Promise<Response>;
}

/** A command that waits for the browser. */
async function startLogin(
  env: Record<string, string> = {},
  args: readonly string[] = [],
  hasTerminal = true,
): Promise<Waiting> {
  const config = newConfig();
  const command = startInProcess(['login', '--url', url, ...args], {
    env: { COUNTERSIGN_CONFIG: config, BROWSER: 'none', ...env },
    cwd: folder,
    ...(hasTerminal && { answers: [] }),
  });
  const [text] = await until(
    'the address',
    async () => /http\S+\/console\/command-line\?\S+/.exec(command.stderr()) ?? undefined,
  );
  const address = new URL(text);
  const port = address.searchParams.get('port');
  const callback = (answer: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/callback?${new URLSearchParams(answer)}`);
  return { command, config, address, callback };
}

/** What the page does after the click. */
async function makeCode(body?: object): Promise<string> {
  const send = (path: string, payload: object | undefined, cookie = '') =>
    fetch(url + path, {
      method: 'POST',
      headers: { ...fromPage, ...(payload && { 'content-type': 'application/json' }), cookie },
      ...(payload && { body: JSON.stringify(payload) }),
    });
  const signedIn = await send(sessionUrl, { clientId, clientSecret });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const made = await send('/console/api/command-line-codes', body, cookie);
  assert.equal(made.status, 201);
  return ((await made.json()) as { code: string }).code;
}

const approve = async ({ address, callback }: Waiting): Promise<Response> =>
  callback({
    code: await makeCode({ codeChallenge: address.searchParams.get('code_challenge') }),
    state: address.searchParams.get('state') ?? '',
    iss: address.origin,
  });

describe('login in a browser', () => {
  it('opens it, and comes back by itself with a session under the own name', async () => {
    const waiting = await startLogin({ BROWSER });
    assert.equal(
      await until('the browser', async () => (existsSync(opened) ? readFileSync(opened, 'utf8') : undefined)),
      String(waiting.address),
    );
    assert.equal(waiting.address.searchParams.get('code_challenge_method'), 'S256');
    const page = await approve(waiting);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /signed in\. You can close/);
    const { command, config } = waiting;
    assert.equal(await command.gone(), 0, command.output());
    assert.match(command.stderr(), /^Your browser asks you/m);
    assert.doesNotMatch(command.stderr(), /script/);
    assert.match(command.stdout(), /^Signed in to .* as .*, until /m);
    assert.doesNotMatch(command.output(), /csc_/);
    const { profiles } = JSON.parse(readFileSync(config, 'utf8'));
    assert.deepEqual(Object.keys(profiles.default).sort(), ['expiresAt', 'session', 'url']);
    assert.equal((await run(['agents', 'list'], { env: { COUNTERSIGN_CONFIG: config } })).code, 0);
    await assert.rejects(waiting.callback({}), 'the port is closed');
  });

  it('prints the address where no browser can be opened, or with --no-browser', async () => {
    for (const [env, args] of [
      [{ BROWSER: 'none' }, []],
      [{ BROWSER: join(folder, 'missing') }, []],
      [{ BROWSER }, ['--no-browser']],
    ] as const) {
      const waiting = await startLogin(env, args);
      assert.match(waiting.command.stderr(), /^Open this address in a browser on this machine to sign in:$/m);
      assert.match(waiting.command.stderr(), /on another machine, use --code instead/);
      await waiting.callback({
        error: 'access_denied',
        state: waiting.address.searchParams.get('state') ?? '',
        iss: url,
      });
      assert.equal(await waiting.command.gone(), 1);
      assert.match(waiting.command.stderr(), /cancelled in the browser; nothing was stored/);
      assert.ok(!existsSync(waiting.config));
    }
  });

  it('400 for an answer without its state, which changes nothing; the right one still counts', async () => {
    const waiting = await startLogin();
    const code = await makeCode();
    for (const state of ['', 'x'.repeat(43), `${waiting.address.searchParams.get('state')}x`]) {
      const page = await waiting.callback({ code, state });
      assert.equal(page.status, 400);
      assert.ok(!(await page.text()).includes(code));
    }
    assert.ok(!waiting.command.hasEnded());
    await approve(waiting);
    assert.equal(await waiting.command.gone(), 0, waiting.command.output());
  });

  it('exit 3: a code that was made for another command, or for none, does not sign in', async () => {
    for (const body of [undefined, { codeChallenge: 'x'.repeat(43) }]) {
      const waiting = await startLogin();
      const state = waiting.address.searchParams.get('state') ?? '';
      const page = await waiting.callback({ code: await makeCode(body), state, iss: url });
      assert.equal(page.status, 400);
      assert.equal(await waiting.command.gone(), 3, waiting.command.output());
      assert.ok(!existsSync(waiting.config));
    }
  });

  it('exit 1 for an answer of another server, or of one that it does not name: the code is sent nowhere', async () => {
    const received: string[] = [];
    const evil = createServer((request, response) => {
      received.push(`${request.method} ${request.url}`);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(evil, 'listening');
    after(() => evil.close());
    const evilUrl = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
    for (const [iss, message] of [
      [url, `the answer of the browser is from ${url}, and not from ${evilUrl}`],
      [`${evilUrl}/`, `is from ${evilUrl}/, and not from ${evilUrl}`],
      [undefined, 'does not name its server (iss is missing)'],
    ] as const) {
      const waiting = await startLogin({}, ['--url', evilUrl]);
      assert.equal(waiting.address.origin, evilUrl);
      // The browser was sent on to the honest server, which made the code.
      const codeChallenge = waiting.address.searchParams.get('code_challenge');
      const page = await waiting.callback({
        code: await makeCode({ codeChallenge }),
        state: waiting.address.searchParams.get('state') ?? '',
        ...(iss && { iss }),
      });
      assert.equal(page.status, 400);
      assert.equal(await waiting.command.gone(), 1, waiting.command.output());
      assert.ok(waiting.command.stderr().includes(message), waiting.command.stderr());
      assert.ok(!existsSync(waiting.config));
    }
    assert.deepEqual(received, []);
  });

  it('404 for any other path, also one that is no address, and waits on', async () => {
    const waiting = await startLogin();
    const port = Number(waiting.address.searchParams.get('port'));
    for (const path of ['//', '//a:99999/', 'http://[/', '/', '/callback/', '*', '//callback']) {
      const [answer] = await once(
        request({ host: '127.0.0.1', port, path, agent: false }).end(),
        'response',
        { signal: AbortSignal.timeout(10_000) },
      );
      answer.resume();
      assert.equal(answer.statusCode, 404, path);
    }
    assert.ok(!waiting.command.hasEnded(), waiting.command.output());
    await approve(waiting);
    assert.equal(await waiting.command.gone(), 0, waiting.command.output());
  });

  it('does the same without a terminal, and says what a script needs', async () => {
    const waiting = await startLogin({}, [], false);
    assert.match(waiting.command.stderr(), /A script needs --client-id and --secret-stdin\.$/m);
    await approve(waiting);
    assert.equal(await waiting.command.gone(), 0, waiting.command.output());
    assert.match(waiting.command.stdout(), /^Signed in to /m);
  });
});
