/** Facts in tokens need a guarantor: a field that is a claim of a granted resource changes only by a caller that may vouch for it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { createResourceClient, outcome } from '../../../test/support/scenarios/resources/resources.ts';
import { type AgentClaim, agentClaims } from './audience-scopes.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, grant, revoke } = createResourceClient(t);
const owner = await tenant();
const home = owner.organizationId;
const operator = { token: await t.token() };

/** Other than those of new agents in tests. */
const otherValues: Readonly<Record<AgentClaim, unknown>> = {
  agentType: 'monitor',
  capabilities: ['resume:read', 'payroll:write'],
  owner: 'finance',
  deploymentEnv: 'staging',
  version: '2.0.0',
};
const change = (by: { token: string }, agentId: string, ...claims: AgentClaim[]) =>
  call('PATCH', `/agents/${agentId}`, by.token, Object.fromEntries(claims.map((c) => [c, otherValues[c]])));

/** Another agent of the organization, with other values of these fields. */
const agentWith = async (...claims: AgentClaim[]) => {
  const { json } = await call(
    'POST',
    '/agents',
    operator.token,
    newAgent({
      organization_id: home,
      allowedScopes: [],
      ...Object.fromEntries(claims.map((claim) => [claim, otherValues[claim]])),
    }),
  );
  return json.agentId as string;
};
const mint = (by: { token: string }, agentId: string) =>
  call('POST', `/agents/${agentId}/credentials`, by.token);

describe('changing a field that a granted resource carries as a claim', () => {
  for (const claim of agentClaims) {
    it(`403 FORBIDDEN for ${claim} with agents:write alone or with a grant of one's own, also for the agent itself`, async () => {
      const agent = await agentIn(home, ['agents:write', 'agents:read']);
      const holder = await agentIn(home, ['agents:write']);
      const plain = await agentIn(home, ['agents:write']);
      const { resourceId, identifier } = await resource(owner, { claims: [claim] });
      for (const { agentId } of [agent, holder]) await grant(owner, agentId, resourceId, ['refund']);
      for (const by of [agent, holder, plain]) {
        const refused = await change(by, agent.agentId, claim);
        assert.equal(outcome(refused), '403 FORBIDDEN');
        assert.deepEqual(refused.json.details, { identifier, claims: [claim] });
        assert.doesNotMatch(refused.json.message, /a grant of your own/);
      }
      const others = agentClaims.filter((each) => each !== claim);
      assert.equal(outcome(await change(agent, agent.agentId, ...others)), '200');
      const { json } = await call('GET', `/agents/${agent.agentId}`, agent.token);
      assert.notDeepEqual(json[claim], otherValues[claim]);
      assert.equal(
        outcome(await call('PATCH', `/agents/${agent.agentId}`, plain.token, { [claim]: json[claim] })),
        '200',
        'an equal value is no change',
      );
    });
  }

  it('200 for the owner of the resource, an admin and an operator, and for everyone without the grant', async () => {
    const admin = await agentIn(home, ['agents:write'], 'admin');
    const { resourceId } = await resource(owner, { claims: [...agentClaims] });
    for (const by of [owner, admin, operator]) {
      const { agentId } = await agentIn(home, []);
      await grant(owner, agentId, resourceId, ['refund']);
      assert.equal(outcome(await change(by, agentId, ...agentClaims)), '200');
    }
    const free = await agentIn(home, ['agents:write']);
    assert.equal(outcome(await change(free, free.agentId, ...agentClaims)), '200');
  });

  it('a suspension stays possible with agents:write alone, unless it also changes the field', async () => {
    const plain = await agentIn(home, ['agents:write']);
    const { agentId } = await agentIn(home, []);
    const { resourceId } = await resource(owner, { claims: ['owner'] });
    await grant(owner, agentId, resourceId, ['refund']);
    const both = { status: 'suspended', owner: 'finance' };
    assert.equal(outcome(await call('PATCH', `/agents/${agentId}`, plain.token, both)), '403 FORBIDDEN');
    assert.equal(
      outcome(await call('PATCH', `/agents/${agentId}`, plain.token, { status: 'suspended' })),
      '200',
    );
    assert.equal(outcome(await call('DELETE', `/agents/${agentId}`, plain.token)), '204');
  });

  it("the role admin in the agent's organization is enough for a shared resource, resources:write is not", async () => {
    const other = await tenant();
    const { resourceId } = await resource(other, { claims: ['owner'] });
    await share(other, resourceId, home, ['refund']);
    const { agentId } = await agentIn(home, []);
    await grant(operator, agentId, resourceId, ['refund']);
    assert.equal(outcome(await change(owner, agentId, 'owner')), '403 FORBIDDEN');
    const admin = await agentIn(home, ['agents:write'], 'admin');
    assert.equal(outcome(await change(admin, agentId, 'owner')), '200');
  });
});

describe('a grant of its own lets a caller vouch for its own facts only', () => {
  for (const claim of agentClaims) {
    it(`${claim}: no grant, no secret and no removal for an agent with another value`, async () => {
      const holder = await agentIn(home, ['agents:write', 'agents:read']);
      const { resourceId, identifier } = await resource(owner, { claims: [claim] });
      await grant(owner, holder.agentId, resourceId, ['refund']);
      const [same, different] = [await agentWith(), await agentWith(claim)];
      assert.equal(outcome(await grant(holder, same, resourceId, ['refund'])), '200');
      assert.equal(outcome(await mint(holder, same)), '201');
      assert.equal(outcome(await change(holder, same, claim)), '403 FORBIDDEN');
      assert.equal(outcome(await revoke(holder, same, resourceId)), '204');
      const refused = await grant(holder, different, resourceId, ['refund']);
      assert.equal(outcome(refused), '403 FORBIDDEN');
      assert.match(refused.json.message, new RegExp(`a grant of your own .* the same ${claim} as the agent`));
      assert.deepEqual(refused.json.details, { identifier, exceeded: ['refund'] });
      await grant(owner, different, resourceId, ['refund']);
      assert.equal(outcome(await mint(holder, different)), '403 FORBIDDEN');
      assert.equal(outcome(await revoke(holder, different, resourceId)), '403 FORBIDDEN');
    });
  }

  it('the order of capabilities makes no difference, and other fields neither', async () => {
    const holder = await agentIn(home, ['agents:write']);
    const { resourceId } = await resource(owner, { claims: ['capabilities'] });
    await change(owner, holder.agentId, 'capabilities');
    await grant(owner, holder.agentId, resourceId, ['refund']);
    const agentId = await agentWith('owner', 'version');
    const capabilities = ['payroll:write', 'resume:read'];
    await call('PATCH', `/agents/${agentId}`, operator.token, { capabilities });
    assert.equal(outcome(await grant(holder, agentId, resourceId, ['refund'])), '200');
  });
});
