/** The examples of docs/guides/give-an-agent-access.md in each language, against one server: all print what the guide shows. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../support/child-process.ts';
import { tabNames, tabsOfGuide } from '../support/clients/tabs-of-guide.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { findProgram, freePort } from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'countersign-access-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const guide = tabsOfGuide('give-an-agent-access');
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const { operator } = await startServerInProcess(
  { ...environment(await createDatabase()), BASE_URL: url },
  port,
);
mkdirSync(join(folder, '.countersign'));
writeFileSync(join(folder, '.countersign/admin.json'), JSON.stringify({ baseUrl: url, ...operator }));
const env = {
  PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
  HOME: folder,
  BASE_URL: url,
  CLIENT_ID: operator.clientId,
  CLIENT_SECRET: operator.clientSecret,
};

describe('docs/guides/give-an-agent-access.md', () => {
  it('has each example in every language', () => {
    assert.deepEqual(guide.names, [tabNames, tabNames, tabNames]);
    assert.match(guide.output, /^orders:read\ninvalid_scope\n$/);
  });

  for (const name of ['curl', 'Command line'] as const)
    it(`prints the scope and the refusal: ${name}`, { timeout: 120_000 }, async (t) => {
      for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(t, program);
      const script = `set -e
. ${join(root, 'docs/guides/setup.sh')}
countersign() { node ${join(root, 'bin/countersign.js')} "$@"; }
${guide.codeIn(name)}`;
      assert.equal(
        await succeed('bash', ['-c', script], { cwd: folder, env, timeout: 110_000 }),
        guide.output,
      );
    });

  it('prints the scope and the refusal: TypeScript', { timeout: 60_000 }, async () => {
    const sdk = new URL('../../sdk/typescript/src/sdk.ts', import.meta.url).href;
    const file = join(folder, 'agent.ts');
    writeFileSync(file, guide.codeIn('TypeScript').replace("'@countersign/sdk'", `'${sdk}'`));
    assert.equal(
      await succeed(process.execPath, [file], { cwd: folder, env, timeout: 50_000 }),
      guide.output,
    );
  });

  // Python is in agent-access-python.test.ts: it installs packages.
});
