/** The commands of the guides about our MCP server, in one shell of a reader each. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { succeed } from '../support/child-process.ts';
import { guides } from '../support/clients/guide-programs.ts';
import { listen } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';
import { factsOf } from '../support/scenarios/mcp.ts';

const t = await listen();
const home = mkdtempSync(join(tmpdir(), 'countersign-mcp-guide-'));
after(() => rmSync(home, { recursive: true, force: true }));
mkdirSync(join(home, '.countersign'));
writeFileSync(join(home, '.countersign/admin.json'), JSON.stringify({ baseUrl: t.issuer, ...t.operator }));
const missing = ['bash', 'curl'].find((name) => !findProgram(name));

/** What the commands of a guide print. */
async function follow(name: string, steps: readonly string[]): Promise<string> {
  const guide = readFileSync(join(guides, name), 'utf8');
  const commands = new Map(
    [...guide.matchAll(/<!-- step (\w+) -->\n```sh\n([\s\S]*?)```/g)].map(([, step = '', text = '']) => [
      step,
      text,
    ]),
  );
  assert.deepEqual([...commands.keys()], steps);
  const script = [`. ${join(guides, 'setup.sh')}`, ...commands.values()].join('\n');
  return succeed('bash', ['-c', script], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home },
    timeout: 120_000,
  });
}

describe('the guides about the MCP server', () => {
  it('an agent calls a tool', async (context) => {
    if (missing) return skipWithout(context, missing);
    const output = await follow('mcp-server.md', ['agent', 'call']);
    const { result } = JSON.parse(/^data: (.*)$/m.exec(output)?.[1] ?? output);
    assert.deepEqual(factsOf(result.content[0].text).own, ['agents:read', 'audit:read']);
  });

  for (const [name, isPublic] of [
    ['mcp-claude.md', false],
    ['mcp-vscode.md', true],
  ] as const)
    it(`${name}: an admin registers the host`, async (context) => {
      if (missing) return skipWithout(context, missing);
      const output = (await follow(name, ['register'])).trim();
      assert.match(output, isPublic ? /^[0-9a-f-]{36}$/ : /^cs_[\w-]+$/);
      const displayName = isPublic ? 'VS Code' : 'Claude';
      const [agent] = await t.sql<{ public_client: boolean; redirect_uris: string[] }>(
        'select public_client, redirect_uris from agents where display_name = $1',
        [displayName],
      );
      assert.equal(agent?.public_client, isPublic);
      assert.equal(agent?.redirect_uris.length, 2);
    });
});
