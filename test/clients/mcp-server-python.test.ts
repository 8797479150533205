/** Our MCP server with another client than the SDK in TypeScript: the official one in Python. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../support/child-process.ts';
import { listen } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram } from '../support/programs.ts';

/** The command of the package has the Python of the package beside it. */
const program = findProgram('mcp');
const script = fileURLToPath(new URL('mcp-server-client.py', import.meta.url));
const t = await listen();

it('the Python client discovers, signs an agent in, calls tools and reads a page', async (context) => {
  if (program === undefined) return skipWithout(context, 'mcp (the Python package)');
  const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
  const url = `${t.issuer}/mcp`;
  const args = [script, url, t.issuer, agent.clientId, agent.clientSecret];
  const found = JSON.parse(
    await succeed(join(dirname(realpathSync(program)), 'python'), args, {
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
      timeout: 120_000,
    }),
  );
  assert.deepEqual(
    [found.version, found.scope, found.tools.length],
    ['2026-07-28', 'agents:read audit:read', 9],
  );
  assert.ok(found.resources > 50);
  assert.match(found.page, /^# /);
  assert.match(found.found, new RegExp(`"agentId":"${agent.agentId}"`));
  assert.match(found.log, /"verified":true/);
  assert.equal(found.unknown[0], true);
  assert.match(found.unknown[1], /No agent of the organization has this name/);
  assert.equal(found.outside, -32_602);
});
