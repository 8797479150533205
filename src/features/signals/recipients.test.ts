/** Which organizations learn of an end: the own one, and the owners of resources for which its tokens are or were. Nothing else of another. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createResourceClient, type TestAgent } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient, type Signal } from '../../../test/support/scenarios/signals.ts';

const issuer = 'http://countersign.test';
const t = await startApp();
const { call, agentIn, tenant, resource, share, unshare, grant, adminOf } = createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const { receiver, drain } = createSignalClient(t);

/** The provider owns an API and shares it with the customer; a third organization has nothing to do with them. */
const [provider, customer, third] = [await tenant(), await tenant(), await tenant()];
const { resourceId, identifier } = await resource(provider);
assert.equal(
  (await share(provider, resourceId, customer.organizationId, ['orders:read', 'refund'])).status,
  200,
);
const admin = await adminOf(customer.organizationId);
const streamOf = async ({ organizationId }: TestAgent) => {
  const api = await agentIn(organizationId, ['tokens:read']);
  const stream = await receiver(api.token);
  return { ...stream, renewed: async () => ({ ...stream, token: await t.token(undefined, api) }) };
};
const made = [await streamOf(provider), await streamOf(customer), await streamOf(third)] as const;
/** With tokens of now: a test has moved the clock. */
const renew = async () => {
  const [first, second, other] = await Promise.all(made.map(({ renewed }) => renewed()));
  assert.ok(first && second && other);
  return { provider: first, customer: second, third: other };
};
let streams = await renew();

/** An agent of the customer; the provider has granted it a scope. */
const buyer = async () => {
  const agent = await agentIn(customer.organizationId, []);
  assert.equal((await grant(admin, agent.agentId, resourceId, ['orders:read'])).status, 200);
  return agent;
};
const tokenFor = async (agent: TestAgent): Promise<string> => {
  const answer = await t.askToken({
    grant_type: 'client_credentials',
    client_id: agent.clientId,
    client_secret: agent.clientSecret,
    resource: identifier,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.access_token;
};
const skip = async () => void (await Promise.all(Object.values(streams).map(drain)));
const ok = (answer: { status: number; text: string }) => assert.ok(answer.status < 300, answer.text);
/** JSON in the order of the names. */
function keyOf(value: object): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' ? Object.fromEntries(Object.entries(part).sort()) : part,
  );
}
/** The subjects and types of what each learned since. */
const learned = async () => {
  const said = ({ type, sub_id }: Signal) => `${type} ${keyOf(sub_id)}`;
  const [first, second, other] = await Promise.all(
    [streams.provider, streams.customer, streams.third].map(async (stream) =>
      (await drain(stream)).map(said),
    ),
  );
  assert.deepEqual(other, [], 'an organization that is not concerned learns nothing');
  return { provider: first ?? [], customer: second ?? [] };
};
const party = (sub: string) => keyOf({ format: 'iss_sub', iss: issuer, sub });
const opaque = (id: string) => keyOf({ format: 'opaque', id });

describe('the owner of a shared resource', () => {
  it('learns of an agent that has got a token for it, not of one that has not', async () => {
    const [used, granted] = [await buyer(), await buyer()];
    await tokenFor(used);
    await skip();
    for (const { agentId } of [used, granted])
      ok(await call('PATCH', `/agents/${agentId}`, admin.token, { status: 'suspended' }));
    assert.deepEqual(await learned(), {
      provider: [`session-revoked ${party(used.agentId)}`],
      customer: [used, granted].map(({ agentId }) => `session-revoked ${party(agentId)}`),
    });
  });

  it('learns of a credential, a token and a delegation for it', async () => {
    const agent = await buyer();
    const { credentialId } = (await call('GET', `/agents/${agent.agentId}/credentials`, admin.token)).json
      .data[0];
    const token = await tokenFor(agent);
    const helper = await agentIn(customer.organizationId, []);
    const chain = await createDelegation(agent.token, helper, ['orders:read'], { resource: [identifier] });
    const delegated = await redeem(helper, chain, { resource: identifier });
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    await skip();
    ok(await t.form('/api/v1/token/revoke', { token }, admin.token));
    ok(await call('DELETE', `/delegations/${chain.chainId}`, agent.token));
    ok(await call('DELETE', `/agents/${agent.agentId}/credentials/${credentialId}`, admin.token));
    assert.ok(delegated);
    const all = [
      `session-revoked ${keyOf({ format: 'jwt_id', iss: issuer, jti })}`,
      `session-revoked ${opaque(chain.chainId)}`,
      `credential-change ${opaque(credentialId)}`,
    ];
    assert.deepEqual(await learned(), { provider: all, customer: all });
  });

  it('learns of an agent through the delegation that another has used', async () => {
    const [agent, helper] = [await buyer(), await agentIn(customer.organizationId, [])];
    const chain = await createDelegation(agent.token, helper, ['orders:read'], { resource: [identifier] });
    await redeem(helper, chain, { resource: identifier });
    await skip();
    ok(await call('PATCH', `/agents/${agent.agentId}`, admin.token, { status: 'suspended' }));
    const { provider: seen } = await learned();
    assert.ok(seen.includes(`session-revoked ${party(agent.agentId)}`), String(seen));
  });

  it('does not learn of tokens, delegations and credentials for other APIs', async () => {
    const agent = await agentIn(customer.organizationId);
    const helper = await agentIn(customer.organizationId, []);
    const { token } = agent;
    const own = await resource(customer);
    ok(await grant(customer, agent.agentId, own.resourceId, ['refund']));
    const chain = await createDelegation(token, helper, ['agents:read']);
    const { credentialId } = (await call('GET', `/agents/${agent.agentId}/credentials`, admin.token)).json
      .data[0];
    await skip();
    ok(await call('DELETE', `/delegations/${chain.chainId}`, token));
    ok(await call('DELETE', `/agents/${agent.agentId}/grants/${own.resourceId}`, customer.token));
    ok(await call('PATCH', `/resources/${own.resourceId}`, customer.token, { scopes: [{ name: 'refund' }] }));
    ok(await t.form('/api/v1/token/revoke', { token }, token));
    ok(await call('DELETE', `/agents/${agent.agentId}/credentials/${credentialId}`, admin.token));
    const { provider: seen, customer: told } = await learned();
    assert.deepEqual([seen, told.length], [[], 5]);
  });

  it('learns which scopes a grant, a narrowed share and an ended share leave; the signals of a foreign grant name no one else', async () => {
    const agent = await buyer();
    await tokenFor(agent);
    const changed = keyOf({
      format: 'complex',
      user: { format: 'iss_sub', iss: issuer, sub: agent.agentId },
      application: { format: 'uri', uri: identifier },
    });
    await skip();
    ok(await grant(admin, agent.agentId, resourceId, ['orders:read', 'refund']));
    ok(await share(provider, resourceId, customer.organizationId, ['orders:read']));
    ok(await unshare(provider, resourceId, customer.organizationId));
    const stream = [await drain(streams.provider), await drain(streams.customer)];
    for (const found of stream)
      assert.deepEqual(
        found
          .filter(({ sub_id }) => keyOf(sub_id) === changed)
          .map(({ type, event }) => [type, event.claims.scope]),
        [
          ['token-claims-change', 'orders:read'],
          ['token-claims-change', ''],
        ],
      );
    assert.deepEqual(await drain(streams.third), []);
    ok(await share(provider, resourceId, customer.organizationId, ['orders:read', 'refund']));
    await skip();
  });

  it('learns nothing of an agent whose tokens for it have expired', async () => {
    const used = await buyer();
    await tokenFor(used);
    await skip();
    t.clock.advance(2 * 3_600_000 + 1_000);
    const { token } = await adminOf(customer.organizationId);
    ok(await call('DELETE', `/agents/${used.agentId}`, token));
    streams = await renew();
    assert.deepEqual((await learned()).provider, []);
  });

  it('learns of the suspended organization of the agents that hold tokens for it, without text about it', async () => {
    const { token } = await adminOf(customer.organizationId);
    const { agentId, ...agent } = await agentIn(customer.organizationId, []);
    ok(await grant({ token }, agentId, resourceId, ['orders:read']));
    await tokenFor({ agentId, ...agent });
    await skip();
    const { organizationId } = customer;
    ok(await call('PATCH', `/organizations/${organizationId}`, await t.token(), { status: 'suspended' }));
    const [signal, ...others] = (await drain(streams.provider)) as [Signal];
    assert.deepEqual(others, []);
    assert.deepEqual(
      [signal.type, signal.sub_id],
      ['session-revoked', { format: 'opaque', id: organizationId }],
    );
    assert.deepEqual(Object.keys(signal.event).sort(), [
      'event_timestamp',
      'initiating_entity',
      'reason_admin',
    ]);
    assert.deepEqual(signal.event.reason_admin, { en: 'The organization was suspended.' });
    ok(await call('PATCH', `/organizations/${organizationId}`, await t.token(), { status: 'active' }));
    ok(await call('DELETE', `/organizations/${organizationId}`, await t.token()));
    const [deleted] = (await drain(streams.provider)) as [Signal];
    assert.deepEqual(deleted.event.reason_admin, { en: 'The organization was deleted.' });
    assert.deepEqual(await drain(streams.third), []);
  });
});
