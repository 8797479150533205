/** Two processes with one database: a partner or policy removed in one is refused by the other with the next request. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/kernel/clock.ts';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { startIssuer } from '../support/peers/issuers.ts';
import { authorize, makeOperator, type Service, startServe } from '../support/programs.ts';
import { jwtType, tokenExchange } from '../support/scenarios/delegations.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const audience = 'https://id.example';
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const env = environment(await createDatabase(), {
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  RATE_LIMIT_PER_MINUTE: '100000',
});
const operator = await makeOperator(env);
const [here, there] = await Promise.all([startServe(env), startServerInProcess(env)]);
const issuer = await startIssuer(systemClock);
const headers = await authorize(here.url, operator);

const call = async (service: Pick<Service, 'url'>, method: string, path: string, payload?: object) => {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { ...headers, ...(payload && { 'content-type': 'application/json' }) },
    ...(payload && { body: JSON.stringify(payload) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};
const form = async (service: Pick<Service, 'url'>, path: string, fields: Record<string, string>) => {
  const body = new URLSearchParams(fields);
  const response = await fetch(`${service.url}/api/v1${path}`, { method: 'POST', body });
  await response.text();
  return response.status;
};
const exchange = (service: Pick<Service, 'url'>, subject_token: string, client_id: string) =>
  form(service, '/oidc/token', {
    grant_type: tokenExchange,
    subject_token,
    subject_token_type: jwtType,
    client_id,
  });
const createPolicy = async (changes: object = {}) => {
  const { agentId } = await call(here, 'POST', '/agents', newAgent());
  const subject = `workload-${crypto.randomUUID()}`;
  const payload = { agentId, name: 'Pipeline', provider: 'custom', issuer: issuer.url, subject };
  const rest = { audiences: [audience], scopes: ['agents:read'], ...changes };
  return call(here, 'POST', '/oidc/trust-policies', { ...payload, ...rest });
};

describe('trust in two processes', () => {
  it('a partner removed or changed in one process is removed or changed in the other', async () => {
    const verdict = async (service: Pick<Service, 'url'>, token: string) => {
      const { valid, reason } = await call(service, 'POST', '/federation/verify', { token });
      return valid ? 'valid' : reason;
    };
    const other = await startIssuer(systemClock);
    const { id } = await call(here, 'POST', '/federation/trust', {
      name: 'Partner',
      issuer: issuer.url,
      jwksUri: issuer.jwksUri,
    });
    const token = await issuer.sign();
    // Twice, so that each process answers from its cached keys.
    for (const service of [here, there, here, there]) assert.equal(await verdict(service, token), 'valid');
    await call(here, 'PATCH', `/federation/partners/${id}`, { jwksUri: other.jwksUri });
    assert.equal(await verdict(there, token), 'unknown_key');
    await call(here, 'PATCH', `/federation/partners/${id}`, { jwksUri: issuer.jwksUri });
    assert.equal(await verdict(there, token), 'valid');
    await call(here, 'DELETE', `/federation/partners/${id}`);
    assert.equal(await verdict(there, token), 'unknown_issuer');
  });

  it('a trust policy disabled or deleted in one process is refused in the other', async () => {
    const { policyId, agentId, subject } = await createPolicy({ singleUse: false });
    const token = await issuer.sign({ sub: subject, aud: audience });
    const url = `/oidc/trust-policies/${policyId}`;
    assert.equal(await exchange(there, token, agentId), 200);
    await call(here, 'PATCH', url, { status: 'disabled' });
    assert.equal(await exchange(there, token, agentId), 400);
    await call(here, 'PATCH', url, { status: 'active' });
    assert.equal(await exchange(there, token, agentId), 200);
    await call(here, 'DELETE', url);
    assert.equal(await exchange(there, token, agentId), 400);
  });

  it('exactly one of 100 concurrent exchanges of one outside token, over both processes, succeeds', async () => {
    const { agentId, subject } = await createPolicy();
    const { delegationToken } = await call(here, 'POST', '/delegations', {
      delegateeId: agentId,
      scopes: ['agents:read'],
    });
    const token = await issuer.sign({ sub: subject, aud: audience });
    const redeem = (service: Pick<Service, 'url'>) =>
      form(service, '/token', {
        grant_type: tokenExchange,
        client_assertion_type: assertionType,
        client_assertion: token,
        subject_token: delegationToken,
        subject_token_type: jwtType,
      });
    const statuses = await Promise.all(
      Array.from({ length: 25 }, () => [
        redeem(here),
        redeem(there),
        exchange(here, token, agentId),
        exchange(there, token, agentId),
      ]).flat(),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.equal(statuses.filter((status) => status === 400 || status === 401).length, 99);
  });
});
