/** What an organization learns of the ends of another one: those of tokens for its own resources that exist or existed, and nothing else. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createResourceClient } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, adminOf, grant, revoke: ungrant } = createResourceClient(t);
const { createDelegation, redeem, revoke } = createDelegationClient(t);
const { receiver, drain } = createSignalClient(t);

describe('the owner of a shared resource', async () => {
  const [owner, borrower] = [await tenant(), await tenant()];
  const api = await agentIn(owner.organizationId, ['tokens:read']);
  const { resourceId, identifier } = await resource(owner);
  const shared = await share(owner, resourceId, borrower.organizationId, ['orders:read', 'refund']);
  assert.equal(shared.status, 200, shared.text);
  const admin = await adminOf(borrower.organizationId);
  const stream = await receiver(api.token);
  const learned = async () => (await drain(stream)).map(({ sub_id }) => sub_id);
  const tokenFor = (agent: { clientId: string; clientSecret: string }) =>
    t.askToken({
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
      resource: identifier,
    });

  it('learns nothing of a grant whose agent has got no token, whatever happens to the grant', async () => {
    const { agentId } = await agentIn(borrower.organizationId, []);
    await drain(stream);
    await grant(admin, agentId, resourceId, ['orders:read', 'refund']);
    await grant(admin, agentId, resourceId, ['refund']);
    assert.equal((await ungrant(admin, agentId, resourceId)).status, 204);
    assert.deepEqual(await learned(), []);
  });

  it('learns of a grant once its agent has got a token, also when the share ends with it', async () => {
    const agent = await agentIn(borrower.organizationId, []);
    await grant(admin, agent.agentId, resourceId, ['orders:read', 'refund']);
    assert.equal((await tokenFor(agent)).status, 200);
    await drain(stream);
    await grant(admin, agent.agentId, resourceId, ['refund']);
    const [narrowed, ...others] = await learned();
    assert.deepEqual([others, (narrowed?.user as { sub: string } | undefined)?.sub], [[], agent.agentId]);
    const ended = await call(
      'DELETE',
      `/resources/${resourceId}/shares/${borrower.organizationId}`,
      owner.token,
    );
    assert.equal(ended.status, 204, ended.text);
    assert.deepEqual(await learned(), [narrowed]);
    const again = await share(owner, resourceId, borrower.organizationId, ['orders:read', 'refund']);
    assert.equal(again.status, 200, again.text);
  });

  it('learns of a delegation once it, or a delegation below it, has given a token', async () => {
    const lender = await agentIn(borrower.organizationId);
    const [helper, below] = [
      await agentIn(borrower.organizationId, []),
      await agentIn(borrower.organizationId, []),
    ];
    await grant(admin, lender.agentId, resourceId, ['orders:read']);
    const wanted = { resource: [identifier], allowRedelegation: true };
    const unused = await createDelegation(lender.token, helper, ['orders:read'], wanted);
    await drain(stream);
    assert.equal((await revoke(lender.token, unused.chainId)).status, 204);
    assert.deepEqual(await learned(), []);
    const used = await createDelegation(lender.token, helper, ['orders:read'], wanted);
    const last = await createDelegation(helper.token, below, ['orders:read'], {
      resource: [identifier],
      parentToken: used.delegationToken,
    });
    const token = await redeem(below, last, { resource: identifier });
    assert.equal(decodeJwt(token).aud, identifier);
    assert.equal((await revoke(lender.token, used.chainId)).status, 204);
    assert.deepEqual(await learned(), [{ format: 'opaque', id: used.chainId }]);
  });
});
