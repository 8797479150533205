/** The commands of the guides that migrate to Countersign, against a server. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../support/child-process.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { findProgram, freePort } from '../support/programs.ts';
import { keycloakRealm } from '../support/scenarios/keycloak-realm.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'countersign-migrate-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const { operator } = await startServerInProcess(
  { ...environment(await createDatabase()), BASE_URL: url },
  port,
);
mkdirSync(join(folder, '.countersign'));
writeFileSync(join(folder, '.countersign/admin.json'), JSON.stringify({ baseUrl: url, ...operator }));
writeFileSync(join(folder, 'realm.json'), JSON.stringify(keycloakRealm));

/** Also the blocks in lists, which are indented. */
const blocksOf = (name: string, language: string) =>
  [
    ...readFileSync(join(root, `docs/guides/${name}.md`), 'utf8').matchAll(
      new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'),
    ),
  ].map(([, indent = '', code = '']) => code.replace(new RegExp(`^${indent}`, 'gm'), ''));

const run = (name: string) =>
  succeed(
    'bash',
    [
      '-c',
      `set -e
. ${join(root, 'docs/guides/setup.sh')}
countersign() { node ${join(root, 'bin/countersign.js')} "$@"; }
${blocksOf(name, 'sh').join('\n')}`,
    ],
    {
      cwd: folder,
      env: { PATH: `${join(process.execPath, '..')}:${process.env.PATH}`, HOME: folder },
      timeout: 280_000,
    },
  );

it('docs/guides/migrate-from-api-keys.md prints what it shows', { timeout: 300_000 }, async (t) => {
  for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(t, program);
  assert.equal(await run('migrate-from-api-keys'), blocksOf('migrate-from-api-keys', 'text').join(''));
});

it('docs/guides/migrate-from-keycloak.md: a dry run, a file, agents and a credential', {
  timeout: 300_000,
}, async (t) => {
  for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(t, program);
  const output = await run('migrate-from-keycloak');
  assert.match(output, /^\+ agent screener@agents\.shop\.example[\s\S]+^exit code 7$/m);
  assert.match(output, /^shop\.yaml written\.[\s\S]+^\d+ changes applied\.$/m);
  assert.match(readFileSync(join(folder, 'screener.secret'), 'utf8'), /^\S{20,}\n$/);
});
