/** A caller that gives an agent a secret, a key, a trust policy or a listing must be able to make the agent's grants itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import {
  createResourceClient,
  outcome,
  type TestAgent,
} from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, grant } = createResourceClient(t);
const owner = await tenant();
const home = owner.organizationId;
const { resourceId, identifier } = await resource(owner);

/** Each way to act as the agent; the agent has a credential, and is suspended for the last one. */
const ways: Record<
  string,
  (by: { token: string }, agent: TestAgent & { credentialId: string }) => ReturnType<typeof call>
> = {
  'generating a credential': (by, { agentId }) => call('POST', `/agents/${agentId}/credentials`, by.token),
  'rotating a credential': (by, { agentId, credentialId }) =>
    call('POST', `/agents/${agentId}/credentials/${credentialId}/rotate`, by.token),
  'setting keys': (by, { agentId }) => call('PUT', `/agents/${agentId}/keys`, by.token, { keys: [] }),
  'a trust policy': (by, { agentId }) =>
    call('POST', '/oidc/trust-policies', by.token, {
      agentId,
      name: 'CI',
      provider: 'github',
      audiences: ['http://countersign.test'],
      subject: 'repo:octo-org/app:ref:refs/heads/main',
      scopes: [],
    }),
  'a listing': (by, { agentId }) =>
    call('POST', '/marketplace/listings', by.token, {
      agentId,
      title: 'Some agent',
      summary: 'Does something.',
    }),
  reactivation: async (by, { agentId }) => {
    await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
    return call('PATCH', `/agents/${agentId}`, by.token, { status: 'active' });
  },
};

async function target(scopes: readonly string[]) {
  const agent = await agentIn(home, []);
  if (scopes.length > 0) assert.equal((await grant(owner, agent.agentId, resourceId, scopes)).status, 200);
  const { json } = await call('GET', `/agents/${agent.agentId}/credentials`, owner.token);
  return { ...agent, credentialId: json.data[0].credentialId as string };
}

describe('an agent with a grant', () => {
  for (const [what, act] of Object.entries(ways)) {
    it(`403 FORBIDDEN for ${what} by a caller that could not make the grant`, async () => {
      const caller = await agentIn(home, ['agents:write', 'agents:read']);
      const refused = await act(caller, await target(['refund']));
      assert.equal(outcome(refused), '403 FORBIDDEN');
      assert.deepEqual(refused.json.details, { identifier, exceeded: ['refund'] });
    });

    it(`${what} succeeds for the owner's agents, for admins, with a grant of one's own, for operators, and without a grant`, async () => {
      const scopes = ['agents:write'];
      const holder = await agentIn(home, scopes);
      await grant(owner, holder.agentId, resourceId, ['refund', 'orders:read']);
      for (const by of [owner, await agentIn(home, scopes, 'admin'), holder, { token: await t.token() }]) {
        const answer = await act(by, await target(['refund']));
        assert.ok(answer.status < 300, `${outcome(answer)}: ${answer.text}`);
      }
      const plain = await act(await agentIn(home, scopes), await target([]));
      assert.ok(plain.status < 300, plain.text);
      assert.equal(outcome(await act(holder, await target(['refund', 'orders:write']))), '403 FORBIDDEN');
    });
  }

  it('200 for its own credential', async () => {
    const agent = await agentIn(home, ['agents:write', 'agents:read']);
    await grant(owner, agent.agentId, resourceId, ['refund']);
    assert.equal((await call('POST', `/agents/${agent.agentId}/credentials`, agent.token)).status, 201);
  });
});
