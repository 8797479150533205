/** `countersign apply` by a person on a terminal, and by a client that is no operator. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentText, everyScope, startApplyServer } from '../support/scenarios/apply.ts';

const server = await startApplyServer();
const { countersign, fileWith, agentBy, newClient } = server;

describe('a client without the operator’s scope', () => {
  it('manages its own organization, and names others by id', async () => {
    const { client, organizationId } = await newClient('plain', everyScope);
    const other = await newClient('neighbour', everyScope);
    const text = (name: string) => `version: 1
agents:${agentText('a@plain.example', '    allowedScopes: [agents:read]\n')}
resources:
  - {identifier: https://plain.example, name: Plain, scopes: [a], shares: [{organization: ${name}, scopes: [a]}]}
grants:
  - {agent: a@plain.example, resource: https://plain.example, scopes: [a]}
`;
    const refused = await countersign(['apply', '-f', fileWith(text('neighbour')), '--yes'], { client });
    assert.match(refused.output, /may not list organizations .* give the id instead of neighbour/);
    const file = fileWith(text(other.organizationId));
    const { code, output } = await countersign(['apply', '-f', file, '--yes'], { client });
    assert.equal(code, 0, output);
    assert.equal((await agentBy('a@plain.example')).organizationId, organizationId);
    assert.equal((await countersign(['apply', '-f', file, '--plan', '--prune'], { client })).code, 0);
  });
});

describe('on a terminal', () => {
  it('asks, and asks separately about what cannot be undone', async () => {
    await newClient('asked', everyScope);
    const keep = agentText('new@asked.example', '    organization: asked\n');
    const file = fileWith(`version: 1\nagents:${keep}`);
    const answer = (first: string, second = '') =>
      countersign(['apply', '-f', file, '--prune'], {
        answers: [
          ['Type yes: ', `${first}\r`],
          ['Type 1 to go on: ', `${second}\r`],
        ],
      });
    assert.equal((await answer('\u0003')).code, 130, 'Ctrl-C');
    const no = await answer('no');
    assert.match(no.output, /nothing was changed/);
    assert.match(no.output, /\[32m\+ agent new@asked\.example/, 'colours');
    assert.match((await answer('yes', 'yes')).output, /nothing was changed/);
    assert.equal(await agentBy('new@asked.example'), undefined);
    const yes = await answer('yes', '1');
    assert.equal(yes.code, 0, yes.output);
    assert.equal((await agentBy('admin@asked.example')).status, 'decommissioned');
    assert.equal((await agentBy('new@asked.example')).status, 'active');
  });
});
