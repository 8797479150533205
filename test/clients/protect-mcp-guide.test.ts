/** The commands of docs/guides/protect-your-mcp-server.md, with both ways to call a tool. Their output is that of the guide. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withTabs } from '../../scripts/docs/markdown.ts';
import { succeed } from '../support/child-process.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { findProgram, freePort } from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = 'docs/guides/protect-your-mcp-server.md';
const guide = withTabs(readFileSync(join(root, source), 'utf8'), source);
/** Also those in tabs, in the order of the page. */
const blocks = [...guide.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```$/gm)].map(([, language, code = '']) => ({
  language,
  code,
}));
const shown = blocks.filter(({ language }) => language === 'text').map(({ code }) => code);

it('each way prints what the guide shows', { timeout: 120_000 }, async (t) => {
  for (const program of ['bash', 'curl']) if (!findProgram(program)) return skipWithout(t, program);
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'));
  // Within the repository, so that the packages are found.
  const program = join(mkdtempSync(join(cache, 'guide-mcp-')), 'agent.mjs');
  after(() => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(join(program, '..'), { recursive: true, force: true });
  });
  const [port, mcpPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const { operator } = await startServerInProcess(
    { ...environment(await createDatabase()), BASE_URL: url },
    port,
  );
  mkdirSync(join(folder, '.countersign'));
  writeFileSync(join(folder, '.countersign/admin.json'), JSON.stringify({ baseUrl: url, ...operator }));
  const script = blocks
    .filter(({ language }) => language !== 'text')
    .map(({ language, code }) => {
      if (language === 'sh') return code;
      writeFileSync(program, stripTypeScriptTypes(code));
      return `MCP=$MCP BASE_URL=$BASE_URL AGENT_ID=$AGENT_ID AGENT_SECRET=$AGENT_SECRET node ${program}\n`;
    })
    .join('')
    .replaceAll('4100', String(mcpPort))
    .replace('node docs/', `node ${root}docs/`);
  const env = { PATH: `${join(process.execPath, '..')}:${process.env.PATH}`, HOME: folder };
  const output = await succeed(
    'bash',
    ['-c', `set -e\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n. ${root}docs/guides/setup.sh\n${script}`],
    {
      cwd: folder,
      env,
      timeout: 110_000,
    },
  );
  const [before = '', both = ''] = shown;
  assert.equal(shown.length, 2);
  assert.equal(output, before + both + both);
});
