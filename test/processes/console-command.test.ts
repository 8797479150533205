/** `countersign console`, and the link that `dev` prints. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runCommand } from '../support/command-line.ts';
import { createDatabase, environment } from '../support/harness.ts';
import { freePort } from '../support/programs.ts';
import { fromPage, sessionUrl } from '../support/scenarios/console.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-console-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const port = await freePort();
const baseUrl = `http://127.0.0.1:${port}`;
const env = environment(await createDatabase(), { BASE_URL: baseUrl });
const { operator } = await startServerInProcess(env, port);

const run = (args: readonly string[], variables: Record<string, string> = {}) =>
  runCommand(['console', ...args], { env: variables, cwd: folder });
const signIn = (code: string) =>
  fetch(`${baseUrl}${sessionUrl}`, {
    method: 'POST',
    headers: { ...fromPage, 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
const linkIn = (output: string) => /^(\S+\/console)#code=(csl_\S+)$/m.exec(output) ?? [];

describe('countersign console', () => {
  it('prints a link for the operator in admin.json; it signs in once', async () => {
    const data = mkdtempSync(join(folder, 'data-'));
    writeFileSync(join(data, 'admin.json'), JSON.stringify({ baseUrl, ...operator }));
    const { code, output, stdout } = await run(['--data', data]);
    assert.equal(code, 0, output);
    const [, page, secret = ''] = linkIn(stdout);
    assert.equal(page, `${baseUrl}/console`);
    assert.match(output, /within a minute.*works once/);
    assert.deepEqual([(await signIn(secret)).status, (await signIn(secret)).status], [204, 401]);
  });

  it('prints a link for the client of the environment', async () => {
    const { code, stdout } = await run([], {
      COUNTERSIGN_URL: baseUrl,
      COUNTERSIGN_CLIENT_ID: operator.clientId,
      COUNTERSIGN_CLIENT_SECRET: operator.clientSecret,
    });
    assert.equal(code, 0);
    assert.equal((await signIn(linkIn(stdout)[2] ?? '')).status, 204);
  });

  it('fails with a reason: no credentials, wrong credentials, no server', async () => {
    const none = await run([]);
    assert.equal(none.code, 3);
    assert.match(none.output, /no credentials: .*COUNTERSIGN_URL/);
    const account = { COUNTERSIGN_CLIENT_ID: operator.clientId, COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' };
    const wrong = await run([], { ...account, COUNTERSIGN_URL: baseUrl });
    assert.equal(wrong.code, 3);
    assert.match(wrong.output, /answered 401 invalid_client/);
    const unreachable = await run(['--url', `http://127.0.0.1:${await freePort()}`], account);
    assert.equal(unreachable.code, 6);
    assert.match(unreachable.output, /cannot reach/);
    for (const { output } of [none, wrong, unreachable]) assert.doesNotMatch(output, /\n\s+at /);
  });
});
