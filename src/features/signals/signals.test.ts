/** What ends tokens reaches a poll stream: agents, credentials, tokens, delegations, grants, resources, organizations. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createResourceClient } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';
import { limits } from '../../contract/limits.ts';
import { timeOfUuid } from '../../kernel/ids.ts';

const t = await startApp();
const issuer = 'http://countersign.test';
const tolerance = limits.signals.issueToleranceMs;
const { call, agentIn, tenant, resource, grant, revoke: ungrant } = createResourceClient(t);
const { createDelegation, redeem, revoke } = createDelegationClient(t);
const { receiver, drain } = createSignalClient(t);
const owner = await tenant();
const home = owner.organizationId;
const api = await agentIn(home, ['tokens:read']);

describe('an end becomes a signal', () => {
  const stream = receiver(api.token);
  const next = async () => {
    const found = await drain(await stream);
    assert.equal(found.length, 1, JSON.stringify(found));
    return found[0] as (typeof found)[0];
  };

  it('session-revoked for a suspended and for a decommissioned agent, with the time to the millisecond', async () => {
    await drain(await stream);
    const { agentId, token } = await agentIn(home, []);
    const suspended = await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
    assert.equal(suspended.status, 200, suspended.text);
    const { sub_id, type, event } = await next();
    assert.deepEqual([type, sub_id], ['session-revoked', { format: 'iss_sub', iss: issuer, sub: agentId }]);
    const issuedAt = timeOfUuid(String(decodeJwt(token).jti));
    const [ended] = await t.sql<{ at: Date }>(
      "select occurred_at as at from audit_events where action = 'agent.suspended' and agent_id = $1",
      [agentId],
    );
    assert.equal(event.event_timestamp * 1000, ended?.at.getTime());
    assert.ok(issuedAt <= event.event_timestamp * 1000 + tolerance);
    assert.equal(event.initiating_entity, 'admin');
    assert.deepEqual(event.reason_admin, { en: 'The agent was suspended.' });
    assert.equal((await call('DELETE', `/agents/${agentId}`, owner.token)).status, 204);
    assert.deepEqual((await next()).event.reason_admin, { en: 'The agent was decommissioned.' });
  });

  it('credential-change: `update` for a rotated credential, `revoke` for a revoked one', async () => {
    const { agentId } = await agentIn(home, []);
    const { credentialId } = (await call('POST', `/agents/${agentId}/credentials`, owner.token)).json;
    const path = `/agents/${agentId}/credentials/${credentialId}`;
    assert.equal((await call('POST', `${path}/rotate`, owner.token)).status, 200);
    const rotated = await next();
    assert.deepEqual(
      [rotated.type, rotated.sub_id, rotated.event.credential_type, rotated.event.change_type],
      ['credential-change', { format: 'opaque', id: credentialId }, 'client_secret', 'update'],
    );
    assert.equal((await call('DELETE', path, owner.token)).status, 204);
    const revoked = await next();
    assert.deepEqual(
      [revoked.type, revoked.sub_id.id, revoked.event.change_type],
      ['credential-change', credentialId, 'revoke'],
    );
  });

  it('session-revoked for a token that was revoked, by its id', async () => {
    const { token } = await agentIn(home, []);
    assert.equal((await t.form('/api/v1/token/revoke', { token }, token)).status, 200);
    const { type, sub_id, event } = await next();
    const { jti } = decodeJwt(token);
    assert.deepEqual([type, sub_id], ['session-revoked', { format: 'jwt_id', iss: issuer, jti }]);
    assert.equal(event.initiating_entity, 'user');
  });

  it('session-revoked for a delegation, by the id of the chain that the token carries', async () => {
    const helper = await agentIn(home, []);
    const chain = await createDelegation(owner.token, helper, ['agents:read']);
    const token = await redeem(helper, chain);
    assert.equal((await revoke(owner.token, chain.chainId)).status, 204);
    const { type, sub_id } = await next();
    assert.deepEqual([type, sub_id], ['session-revoked', { format: 'opaque', id: chain.chainId }]);
    assert.equal(decodeJwt(token).chain_id, chain.chainId);
  });

  it('token-claims-change with the scopes that remain: narrowed and removed grants, narrowed and deleted resources', async () => {
    const { agentId } = await agentIn(home, []);
    const { resourceId, identifier } = await resource(owner);
    const user = { format: 'iss_sub', iss: issuer, sub: agentId };
    const application = { format: 'uri', uri: identifier };
    await grant(owner, agentId, resourceId, ['orders:read', 'refund']);
    await grant(owner, agentId, resourceId, ['orders:read']);
    const narrowed = await next();
    assert.deepEqual(
      [narrowed.type, narrowed.sub_id, narrowed.event.claims],
      ['token-claims-change', { format: 'complex', user, application }, { scope: 'orders:read' }],
    );
    assert.equal((await ungrant(owner, agentId, resourceId)).status, 204);
    const removed = await next();
    assert.deepEqual([removed.sub_id, removed.event.claims], [narrowed.sub_id, { scope: '' }]);
    const changed = await call('PATCH', `/resources/${resourceId}`, owner.token, {
      scopes: [{ name: 'refund' }],
    });
    assert.equal(changed.status, 200, changed.text);
    const lost = await next();
    assert.deepEqual(
      [lost.type, lost.sub_id, lost.event.claims],
      ['token-claims-change', { format: 'complex', application }, { scope: 'refund' }],
    );
    assert.equal((await call('DELETE', `/resources/${resourceId}`, owner.token)).status, 204);
    assert.deepEqual((await next()).event.claims, { scope: '' });
  });

  it('nothing for what ends no token', async () => {
    const { agentId } = await agentIn(home, []);
    await call('PATCH', `/agents/${agentId}`, owner.token, { owner: 'other-team' });
    await t.token(undefined, api);
    assert.deepEqual(await drain(await stream), []);
  });
});

it('a token from after the end has a later time, by more than verifiers allow for clocks', async () => {
  const { organizationId: elsewhere, token } = await tenant();
  const [agent, reader] = [await agentIn(elsewhere, []), await agentIn(elsewhere, ['tokens:read'])];
  const { resourceId, identifier } = await resource({ token });
  const own = await receiver(reader.token);
  const asOperator = async () => ({ token: await t.token() });
  const setStatus = async (path: string, status: string) => {
    const answer = await call('PATCH', path, await t.token(), { status });
    assert.equal(answer.status, 200, answer.text);
  };
  const allow = async () => {
    const answer = await grant(await asOperator(), agent.agentId, resourceId, ['orders:read']);
    assert.equal(answer.status, 200, answer.text);
  };
  const issueTime = async () => {
    const answer = await t.askToken({
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
      resource: identifier,
    });
    assert.equal(answer.status, 200, answer.text);
    return timeOfUuid(String(decodeJwt(answer.json.access_token).jti));
  };
  await allow();
  for (const [end, undo] of [
    [
      () => setStatus(`/agents/${agent.agentId}`, 'suspended'),
      () => setStatus(`/agents/${agent.agentId}`, 'active'),
    ],
    [
      () => setStatus(`/organizations/${elsewhere}`, 'suspended'),
      () => setStatus(`/organizations/${elsewhere}`, 'active'),
    ],
    [async () => ungrant(await asOperator(), agent.agentId, resourceId), allow],
  ] as const) {
    const renewed = async () => ({ ...own, token: await t.token(undefined, reader) });
    // Beyond the tolerance after the end before.
    t.clock.advance(60_000);
    await drain(await renewed());
    const before = await issueTime();
    await end();
    await undo();
    const after = await issueTime();
    const [signal] = await drain(await renewed());
    const endedAt = signal?.event.event_timestamp * 1000;
    assert.ok(
      before <= endedAt + tolerance && after > endedAt + tolerance,
      JSON.stringify({ before, endedAt, after }),
    );
  }
});

it('the verifiers of the SDKs allow as much for clocks as new tokens have', () => {
  for (const [file, pattern] of [
    ['typescript/src/signals/state.ts', /issueToleranceMs = ([\d_]+);/],
    ['python/src/countersign/signal_state.py', /^ISSUE_TOLERANCE = ([\d_]+)$/m],
  ] as const) {
    const text = readFileSync(new URL(`../../../sdk/${file}`, import.meta.url), 'utf8');
    assert.equal(Number(pattern.exec(text)?.[1]?.replaceAll('_', '')), tolerance, file);
  }
});
