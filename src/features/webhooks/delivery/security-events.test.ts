/** Security events for subscribers: which are part of `*`, under which names, and the limit of refusals. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Received, startReceiver } from '../../../../test/support/peers/receivers.ts';
import { startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';

// Over plain http, sessions of the console begin on loopback addresses only.
const consoleOrigin = 'http://countersign.localhost';
const t = await startWebhookApp({ RATE_LIMIT_PER_MINUTE: '1000', BASE_URL: consoleOrigin });
const bodyOf = ({ body }: Received) => JSON.parse(body);
const typesOf = (received: readonly Received[]) => received.map((each) => bodyOf(each).type);

const ask = async (method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', url: string, payload?: object) => {
  const answer = await t.call(method, `/api/v1${url}`, { token: t.bearer, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.text === '' ? undefined : answer.json;
};
const refuse = (clientId: string, clientSecret: string) =>
  t.form('/api/v1/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'admin:orgs',
  });

describe('security events', () => {
  it('are part of `*`, and do not reach a subscription that names others', async () => {
    const [all, named] = [await startReceiver(), await startReceiver()];
    await t.subscribe(all.url, ['*']);
    await t.subscribe(named.url, ['agent.created']);
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    const { agentId } = agent;
    const { organizationId } = (await t.call('GET', `/api/v1/agents/${agentId}`, { token: t.bearer })).json;

    const members = `/organizations/${organizationId}/members`;
    await ask('POST', members, { agentId, role: 'member' });
    await ask('PATCH', `${members}/${agentId}`, { role: 'admin' });
    await ask('DELETE', `${members}/${agentId}`);
    const policy = await ask('POST', '/oidc/trust-policies', {
      agentId,
      name: 'ci',
      provider: 'custom',
      issuer: 'https://issuer.example',
      jwksUri: 'https://issuer.example/jwks',
      audiences: ['us'],
      subject: 'job',
      scopes: ['agents:read'],
    });
    await ask('PATCH', `/oidc/trust-policies/${policy.policyId}`, { name: 'ci-2' });
    await ask('DELETE', `/oidc/trust-policies/${policy.policyId}`);
    const chain = await ask('POST', '/delegations', { delegateeId: agentId, scopes: ['agents:read'] });
    await ask('DELETE', `/delegations/${chain.chainId}`);
    assert.equal((await refuse(agent.clientId, agent.clientSecret)).status, 400);
    await t.drain();

    const seen = typesOf(all.received).filter((type) => !/^(agent|credential)\./.test(type));
    assert.deepEqual(seen.filter((type) => type !== 'token.issued').sort(), [
      'delegation.created',
      'delegation.revoked',
      'member.added',
      'member.changed',
      'member.removed',
      'token.refused',
      'trust_policy.created',
      'trust_policy.deleted',
      'trust_policy.updated',
    ]);
    assert.deepEqual([...new Set(typesOf(named.received))], ['agent.created']);
    const dataOf = (type: string) =>
      bodyOf(all.received.find((each) => bodyOf(each).type === type) as Received).data;
    assert.deepEqual(
      [dataOf('member.changed').role, dataOf('member.changed').previousRole],
      ['admin', 'member'],
    );
    assert.equal(dataOf('delegation.created').chainId, chain.chainId);
    assert.equal(dataOf('token.refused').agentId, agentId);
    assert.equal(typeof dataOf('token.refused').reason, 'string');
  });

  it('are part of `*` for people, sessions and refused permissions, too', async () => {
    const all = await startReceiver();
    await t.subscribe(all.url, ['*']);
    const member = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const { organizationId } = t.operator;
    const people = `/organizations/${organizationId}/people`;
    const { personId } = await ask('POST', people, {
      issuer: 'https://login.example.com',
      subject: 'ada',
      name: 'Ada',
      role: 'viewer',
      agentId: member.agentId,
    });
    await ask('PATCH', `${people}/${personId}`, { name: 'Ada L.' });
    await ask('DELETE', `${people}/${personId}`);
    const session = (clientSecret: string) =>
      t.call('POST', '/console/api/session', {
        headers: { origin: consoleOrigin, 'x-countersign-console': '1' },
        payload: { clientId: member.clientId, clientSecret },
      });
    const begun = await session(member.clientSecret);
    assert.equal(begun.status, 204, begun.text);
    assert.equal((await session('cs_wrong')).status, 401);
    const cookie = String(begun.headers['set-cookie']).split(';')[0] ?? '';
    const ended = await t.call('DELETE', '/console/api/session', {
      headers: { origin: consoleOrigin, 'x-countersign-console': '1', cookie },
    });
    assert.equal(ended.status, 204, ended.text);
    const refused = await t.call('PATCH', `/api/v1/organizations/${organizationId}`, {
      token: await t.token(undefined, member),
      payload: { name: 'Other' },
    });
    assert.equal(refused.status, 403, refused.text);
    await t.drain();
    const seen = typesOf(all.received).filter((type) => /^(person|session|policy)\./.test(type));
    assert.deepEqual(seen.sort(), [
      'person.changed',
      'person.created',
      'person.removed',
      'policy.refused',
      'session.created',
      'session.ended',
      'session.refused',
    ]);
  });

  it('send at most 60 refusals of each kind per organization and minute, the audit log has all', async () => {
    const receiver = await startReceiver();
    const { organizationId } = await ask('POST', '/organizations', {
      name: 'Busy',
      slug: 'busy',
      planTier: 'enterprise',
    });
    const admin = await t.agent({
      organization_id: organizationId,
      allowedScopes: ['webhooks:write', 'agents:read'],
    });
    const token = await t.token(undefined, admin);
    const made = await t.call('POST', '/api/v1/webhooks', {
      token,
      payload: { name: 'x', url: receiver.url, events: ['token.refused'] },
    });
    assert.equal(made.status, 201, made.text);
    const now = t.clock.now();
    t.clock.advance(60_000 - (now % 60_000));
    const burst = () =>
      Promise.all(Array.from({ length: 40 }, () => refuse(admin.clientId, admin.clientSecret)));
    for (const answers of [await burst(), await burst()])
      for (const { status } of answers) assert.equal(status, 400);
    const recorded = await t.sql(
      "select 1 from audit_events where organization_id = $1 and action = 'token.refused'",
      [organizationId],
    );
    assert.equal(recorded.length, 80);
    await t.drain();
    assert.equal(receiver.received.length, 60);
    t.clock.advance(60_000);
    await refuse(admin.clientId, admin.clientSecret);
    await t.drain();
    assert.equal(receiver.received.length, 61);
  });

  it('400 VALIDATION_ERROR for a name that only the audit log has', async () => {
    for (const event of ['member.updated', 'person.invited', 'authentication.refused']) {
      const payload = { name: 'x', url: 'https://hooks.example.com', events: [event] };
      const { status } = await t.call('POST', '/api/v1/webhooks', { token: t.bearer, payload });
      assert.equal(status, 400);
    }
  });
});
