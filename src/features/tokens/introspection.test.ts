import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { createExpiryLoop } from './loops.ts';

const t = await startApp();
const operator = await t.token();
const introspect = async (token: string, as = operator) =>
  (await t.form('/api/v1/token/introspect', { token }, as)).json;
const revoke = (token: string, as: string) => t.form('/api/v1/token/revoke', { token }, as);
const works = async (token: string) => (await t.call('GET', '/api/v1/agents', { token })).status === 200;

/** An agent of another organization, with its token. */
async function foreigner() {
  const payload = { name: 'Elsewhere', slug: `elsewhere-${crypto.randomUUID()}` };
  const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
    .json;
  const agent = await t.agent({ organization_id: organizationId });
  return { organizationId, ...agent, token: await t.token(undefined, agent) };
}

describe('POST /token/introspect', () => {
  it('200 with every field of the spec for an active token', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'tokens:read'] });
    const token = await t.token(undefined, agent);
    const { iat, exp, jti, organization_id, ...rest } = await introspect(token);
    assert.deepEqual(rest, {
      active: true,
      sub: agent.agentId,
      client_id: agent.agentId,
      scope: 'agents:read tokens:read',
      token_type: 'Bearer',
      aud: 'http://countersign.test',
      iss: 'http://countersign.test',
    });
    const claims = decodeJwt(token);
    assert.deepEqual([jti, organization_id], [claims.jti, claims.organization_id]);
    assert.equal(exp - iat, 3600);
    assert.ok(Number.isInteger(iat));
    assert.equal((await introspect(token, token)).active, true, 'an agent may ask about itself');
  });
  it('200 {active:false} and nothing else for what is unknown, expired, revoked, or of an agent or organization that is not active', async () => {
    const inactive = { active: false };
    for (const odd of ['x', 'a.b.c', `${operator}x`, `${operator}=`, 'é', ' ']) {
      assert.deepEqual(await introspect(odd), inactive, odd);
    }
    const agent = await t.agent();
    const token = await t.token(undefined, agent);
    await revoke(token, token);
    assert.deepEqual(await introspect(token), inactive);

    const suspended = await t.agent();
    const ofSuspended = await t.token(undefined, suspended);
    await t.call('PATCH', `/api/v1/agents/${suspended.agentId}`, {
      token: operator,
      payload: { status: 'suspended' },
    });
    assert.deepEqual(await introspect(ofSuspended), inactive);

    const other = await foreigner();
    assert.equal((await introspect(other.token)).active, true);
    const path = `/api/v1/organizations/${other.organizationId}`;
    await t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } });
    assert.deepEqual(await introspect(other.token), inactive);

    t.clock.advance(3_601_000);
    const fresh = await t.token();
    assert.deepEqual(await introspect(operator, fresh), inactive);
    t.clock.advance(-3_601_000);
  });
  it("200 {active:false} for another organization's token, unless the operator asks", async () => {
    const other = await foreigner();
    const own = await t.token(undefined, await t.agent());
    assert.deepEqual(await introspect(other.token, own), { active: false });
    assert.equal((await introspect(other.token)).active, true);
  });
  it('400 VALIDATION_ERROR without a token, 401 without a caller, 403 INSUFFICIENT_SCOPE without tokens:read', async () => {
    const missing = await t.form('/api/v1/token/introspect', { token_type_hint: 'access_token' }, operator);
    assert.deepEqual([missing.status, missing.json.code], [400, 'VALIDATION_ERROR']);
    assert.equal((await t.form('/api/v1/token/introspect', { token: 'x' })).status, 401);
    const weak = await t.token(undefined, await t.agent({ allowedScopes: ['agents:read'] }));
    assert.equal(
      (await t.form('/api/v1/token/introspect', { token: 'x' }, weak)).json.code,
      'INSUFFICIENT_SCOPE',
    );
  });
});

describe('POST /token/revoke', () => {
  it('200 {} ends the token at once, for good, and is idempotent; one event', async () => {
    const agent = await t.agent();
    const [token, other] = [await t.token(undefined, agent), await t.token(undefined, agent)];
    const first = await revoke(token, other);
    assert.deepEqual([first.status, first.json], [200, {}]);
    assert.equal(await works(token), false);
    assert.equal(await works(other), true, 'the other token of the agent goes on');
    assert.deepEqual((await revoke(token, other)).json, {});
    const rows = await t.sql("select 1 from audit_events where agent_id = $1 and action = 'token.revoked'", [
      agent.agentId,
    ]);
    assert.equal(rows.length, 1);
  });
  it('200 {} for what is unknown or malformed', async () => {
    for (const odd of ['x', 'a.b.c', `${operator}A`])
      assert.deepEqual((await revoke(odd, operator)).json, {});
    assert.equal(await works(operator), true);
  });
  it('in another spelling a revoked token gains nothing', async () => {
    const token = await t.token(undefined, await t.agent());
    await revoke(token, token);
    const last = token.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const neighbour = token.slice(0, -1) + alphabet[alphabet.indexOf(last) ^ 1];
    for (const spelling of [token, `${token}=`, `${token}==`, neighbour]) {
      assert.equal(await works(spelling), false, spelling.slice(-8));
      assert.deepEqual(await introspect(spelling), { active: false });
    }
  });
  it('own tokens always; others of the organization with agents:write or as its admin; 403 FORBIDDEN otherwise', async () => {
    const target = await t.agent();
    const fresh = () => t.token(undefined, target);
    const plain = await t.agent({ allowedScopes: [] });
    const plainToken = await t.token(undefined, plain);
    const writer = await t.token(undefined, await t.agent({ allowedScopes: ['agents:write'] }));
    const other = await foreigner();

    const kept = await fresh();
    for (const as of [plainToken, other.token]) {
      const answer = await revoke(kept, as);
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
      assert.match(answer.json.message, /scope agents:write or the role admin/);
    }
    assert.equal(await works(kept), true);
    assert.equal((await revoke(kept, writer)).status, 200);
    assert.equal((await revoke(await fresh(), operator)).status, 200);
    assert.equal((await revoke(operator, writer)).status, 403, "an operator's token is an operator's to end");
    assert.equal((await revoke(plainToken, plainToken)).status, 200);
    await t.call('POST', `/api/v1/organizations/${t.operator.organizationId}/members`, {
      token: operator,
      payload: { agentId: plain.agentId, role: 'admin' },
    });
    assert.equal((await revoke(await fresh(), await t.token(undefined, plain))).status, 200);
    assert.equal((await revoke(other.token, writer)).status, 403);
  });
  it('400 VALIDATION_ERROR without a token, and for one given twice', async () => {
    assert.equal((await t.form('/api/v1/token/revoke', {}, operator)).json.code, 'VALIDATION_ERROR');
    const twice = await t.call('POST', '/api/v1/token/revoke', {
      token: operator,
      payload: 'token=a&token=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(twice.json.code, 'VALIDATION_ERROR');
  });
  it('revocations are forgotten a day after the token would have expired, and not before', async () => {
    const token = await t.token(undefined, await t.agent());
    await revoke(token, token);
    const left = async () => (await t.sql('select 1 from token_revocations')).length;
    const before = await left();
    await createExpiryLoop({ db: t.app.db, clock: t.clock }).run(new AbortController().signal);
    assert.equal(await left(), before);
    t.clock.advance(25 * 3_600_000 + 60_000);
    t.app.loops.start();
    await until('the revocations to go', async () => (await left()) === 0 || undefined);
    await t.app.loops.stop();
  });
});
