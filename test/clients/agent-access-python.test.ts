/** The Python examples of docs/guides/give-an-agent-access.md, with the package of this checkout in a fresh environment. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../support/child-process.ts';
import { tabsOfGuide } from '../support/clients/tabs-of-guide.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { findProgram, freePort } from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const sdk = fileURLToPath(new URL('../../sdk/python', import.meta.url));
const timeout = 300_000;

it('prints the scope and the refusal: Python', { timeout: 2 * timeout }, async (t) => {
  if (!findProgram('python3')) return skipWithout(t, 'python3');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-access-python-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const python = join(folder, 'bin/python');
  await succeed('python3', ['-m', 'venv', folder], { timeout });
  // The dependencies come from the registry; the package is that of the checkout, which the build would write into.
  const dependencies = [
    '-c',
    `import tomllib; print(*tomllib.load(open("${sdk}/pyproject.toml", "rb"))["project"]["dependencies"], sep="\\n")`,
  ];
  const names = (await succeed(python, dependencies, { timeout })).trim().split('\n');
  await succeed(python, ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', ...names], {
    timeout,
  });

  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { operator } = await startServerInProcess(
    { ...environment(await createDatabase()), BASE_URL: url },
    port,
  );
  const guide = tabsOfGuide('give-an-agent-access');
  const file = join(folder, 'agent.py');
  writeFileSync(file, guide.codeIn('Python'));
  const { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } = operator;
  const env = {
    PATH: process.env.PATH,
    PYTHONPATH: join(sdk, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
    BASE_URL: url,
    CLIENT_ID,
    CLIENT_SECRET,
  };
  assert.equal(await succeed(python, [file], { env, timeout }), guide.output);
});
