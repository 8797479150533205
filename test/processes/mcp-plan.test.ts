/** The plan of the MCP server: that of `countersign apply`, as its caller, and nothing is applied. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { authorize, type Client as Credentials } from '../support/programs.ts';
import { agentText, startApplyServer } from '../support/scenarios/apply.ts';
import { factsOf } from '../support/scenarios/mcp.ts';

const { service, operator, countersign, fileWith, folder, agentBy, newClient } = await startApplyServer();

const guide = readFileSync(new URL('../../docs/guides/configuration-as-code.md', import.meta.url), 'utf8');
const example = /```yaml\n(# identity\.yaml\n[\s\S]*?)```/.exec(guide)?.[1] ?? '';

async function plan(file: string, client: Credentials = operator) {
  const host = new Client({ name: 'host', version: '1.0.0' });
  const headers = await authorize(service.url, client);
  await host.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', service.url), { requestInit: { headers } }),
  );
  const { content, isError = false } = await host.callTool({ name: 'plan_a_change', arguments: { file } });
  await host.close();
  const { text } = (content as { text: string }[])[0] ?? assert.fail();
  return { ...factsOf(text), isError, text };
}

describe('plan_a_change', () => {
  it('has the changes of `countersign apply --plan`, and applies none', async () => {
    const planned = await plan(example);
    assert.equal(planned.isError, false, planned.text);
    const { code, stdout } = await countersign(['apply', '-f', fileWith(example), '--plan', '--json']);
    assert.equal(code, 7);
    const { changes } = JSON.parse(stdout);
    assert.ok(changes.length > 5);
    assert.deepEqual(
      planned.changes.map((change: object) => ({ ...change, status: 'planned' })),
      changes,
    );
    assert.equal(planned.applied, false);
    assert.equal(await agentBy('screener@acme.example'), undefined);
  });

  it('shows no secret: the path of a webhook, variables, files of the server', async () => {
    writeFileSync(join(folder, 'secret.txt'), 'hunter2');
    const { text } = await plan(`version: 1
connections:
  - name: Company
    issuer: https://login.example.com
    clientId: countersign
    clientSecret: {file: ${join(folder, 'secret.txt')}}
  - name: Other
    issuer: https://other.example.com
    clientId: countersign
    clientSecret: {env: DATABASE_URL}
`);
    assert.match(text, /login\.example\.com/);
    assert.doesNotMatch(text, /hunter2|postgres(?:ql)?:\/\//);
    assert.doesNotMatch((await plan(example)).text, /T0000\/B0000/);
  });

  it('says what is wrong with a file, and where', async () => {
    for (const [file, problem] of [
      ['version: 1\nagents: [', /file:\d+:\d+/],
      ['version: 1\nagnts: []', /^file:2:1: unknown key agnts/],
      [`version: 1\nagents: &a [*a, *a]`, /file:\d+:\d+/],
    ] as const) {
      const planned = await plan(file);
      assert.equal(planned.isError, true, planned.text);
      assert.match(planned.problem, problem);
    }
  });

  it('429 RATE_LIMIT_EXCEEDED of the organization after six in a minute: a plan takes much CPU time', async () => {
    const { client } = await newClient('planner', ['agents:read']);
    // At once, and more than fit into two minutes.
    const planned = await Promise.all(
      Array.from({ length: 13 }, () => plan('version: 1\nagents: []\n', client)),
    );
    const answers = planned.map(({ refused }) => refused ?? 'planned');
    const refused = answers.filter((answer) => answer !== 'planned');
    assert.ok(refused.length > 0, answers.join());
    for (const answer of refused) assert.match(answer, /^RATE_LIMIT_EXCEEDED: .*6 plans a minute/);
  });

  it('reads as its caller: only the own organization, and with the scopes that the file needs', async () => {
    const { client } = await newClient('reader', ['agents:read']);
    const agents = `version: 1\nagents:${agentText('new@reader.example')}`;
    const planned = await plan(agents, client);
    assert.equal(planned.isError, false, planned.text);
    assert.match(planned.summary, /1 to create/);
    const foreign = await plan(
      `${agents}    organization: ${(await newClient('other', [])).organizationId}\n`,
      client,
    );
    assert.doesNotMatch(foreign.text, /"name":"other"/);
    const webhooks = await plan(
      'version: 1\nwebhooks:\n  - name: Events\n    url: https://hooks.example.com/in\n    events: [agent.created]\n',
      client,
    );
    assert.deepEqual([webhooks.isError, /webhooks:read/.test(webhooks.problem)], [true, true], webhooks.text);
  });
});
