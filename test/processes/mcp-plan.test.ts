/** The plan of the MCP server: that of `countersign apply`, as its caller, and nothing is applied. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { authorize, type Client } from '../support/programs.ts';
import { startApplyServer } from '../support/scenarios/apply.ts';
import { createMcpClient, factsOf } from '../support/scenarios/mcp.ts';

const { service, operator, countersign, fileWith, folder, agentBy, newClient } = await startApplyServer();

const guide = readFileSync(new URL('../../docs/guides/configuration-as-code.md', import.meta.url), 'utf8');
const example = /```yaml\n(# identity\.yaml\n[\s\S]*?)```/.exec(guide)?.[1] ?? '';

const { textOf, refusal } = createMcpClient({
  async call(method, url, { token: _, headers, payload } = {}) {
    const response = await fetch(`${service.url}${url}`, {
      method: String(method),
      headers: headers as Record<string, string>,
      body: JSON.stringify(payload),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      get json() {
        return JSON.parse(text);
      },
    };
  },
  token: () => assert.fail('not here'),
  agent: () => assert.fail('not here'),
});
