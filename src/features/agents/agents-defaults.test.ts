/** The scopes of an agent that is created without `allowedScopes`, and where agents with writing scopes are named. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { organizationScopes } from '../../contract/scopes.ts';

const created = async (t: Awaited<ReturnType<typeof startApp>>, token: string) => {
  const { status, json, text } = await t.call('POST', '/api/v1/agents', { token, payload: newAgent() });
  assert.equal(status, 201, text);
  return json.allowedScopes;
};

describe('DEFAULT_AGENT_SCOPES', () => {
  it('201 with the six scopes of the specification, within those of the token', async () => {
    const t = await startApp();
    assert.deepEqual(await created(t, await t.token()), [...organizationScopes]);
    assert.deepEqual(await created(t, await t.token('agents:write agents:read')), [
      'agents:read',
      'agents:write',
    ]);
  });

  it('201 with the configured scopes, within those of the token', async () => {
    const t = await startApp({ DEFAULT_AGENT_SCOPES: 'tokens:read, agents:read  resources:read' });
    assert.deepEqual(await created(t, await t.token()), ['agents:read', 'tokens:read', 'resources:read']);
    assert.deepEqual(await created(t, await t.token('agents:write tokens:read')), ['tokens:read']);
  });

  it('201 without scopes for none; scopes that the request names count', async () => {
    const t = await startApp({ DEFAULT_AGENT_SCOPES: 'none' });
    const token = await t.token();
    assert.deepEqual(await created(t, token), []);
    const payload = newAgent({ allowedScopes: ['audit:read'] });
    const { json } = await t.call('POST', '/api/v1/agents', { token, payload });
    assert.deepEqual(json.allowedScopes, ['audit:read']);
  });
});

describe('agents with writing scopes', () => {
  it('are named by the overview, the newest first, and counted by the compliance report', async () => {
    const t = await startApp();
    const operator = await t.token();
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: operator,
        payload: { name: 'Talent', slug: 'talent', planTier: 'pro' },
      })
    ).json;
    const make = (allowedScopes: string[]) => {
      t.clock.advance(10);
      return t.agent({ organization_id: organizationId, allowedScopes });
    };
    const reader = await make(['agents:read', 'audit:read']);
    const writer = await make(['agents:read', 'agents:write']);
    const gone = await make(['webhooks:write']);
    const last = await make(['resources:write', 'webhooks:write']);
    await t.call('DELETE', `/api/v1/agents/${gone.agentId}`, { token: operator });
    const token = await t.token(undefined, reader);
    const { writingAgents } = (await t.call('GET', '/api/v1/overview', { token })).json;
    assert.deepEqual(
      writingAgents.data.map(({ agentId, scopes }: { agentId: string; scopes: string[] }) => [
        agentId,
        scopes,
      ]),
      [
        [last.agentId, ['webhooks:write', 'resources:write']],
        [writer.agentId, ['agents:write']],
      ],
    );
    assert.equal(writingAgents.total, 2);
    const { json } = await t.call('GET', '/api/v1/compliance/report', { token });
    assert.deepEqual([json.agentCount, json.writingAgentCount], [3, 2]);
  });

  it('make the control fail when they are more than a few', async () => {
    const t = await startApp();
    const statusOf = async () =>
      (await t.call('GET', '/api/v1/compliance/controls')).json.controls.find(
        ({ id }: { id: string }) => id === 'CC6.3-SCOPES',
      )?.status;
    assert.equal(await statusOf(), 'pass');
    for (let count = 0; count < 5; count += 1) await t.agent({ allowedScopes: ['agents:write'] });
    t.clock.advance(61_000);
    assert.equal(await statusOf(), 'fail');
  });
});
