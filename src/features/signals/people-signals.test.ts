/** What ends tokens of people: consents, people, their roles, what they may lend. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { decodeJwt } from 'jose';
import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';
import { createSignalClient, type Signal } from '../../../test/support/scenarios/signals.ts';

const scenario = await createAuthorizationScenario();
const { t, issuer, organizationId, operate, makeResource, member, publicClient, tokensFor, refresh } =
  scenario;
const { receiver, drain } = createSignalClient(t, issuer);
const api = await t.agent({ allowedScopes: ['tokens:read'] });
const stream = await receiver(await t.token(undefined, api));

const person = (sub: string) => ({ format: 'iss_sub', iss: issuer, sub });
/** A member who lets a client act at the resource. */
const consented = async (resource: string = scenario.resource.identifier) => {
  const client = await publicClient();
  const { browser, personId } = await member();
  const tokens = await tokensFor(browser, client, { resource });
  const { chain_id: chainId } = decodeJwt(String(tokens.access_token));
  assert.equal(await scenario.isActive(tokens.access_token), true);
  await drain(stream);
  return { client, browser, personId, tokens, chainId: String(chainId) };
};
const lines = (found: readonly Signal[]) =>
  found.map(({ type, sub_id, event }) =>
    [type, sub_id, event.claims?.scope.split(' ').sort().join(' ')].filter((each) => each !== undefined),
  );
const pathOf = (personId: string) => `/organizations/${organizationId}/people/${personId}`;

describe('a consent', () => {
  it('session-revoked for the chain of the token, when the person withdraws it', async () => {
    const { browser, chainId, tokens } = await consented();
    const answer = await browser.change('DELETE', `/console/api/me/delegations/${chainId}`);
    assert.ok(answer.status < 300, answer.text);
    const found = await drain(stream);
    assert.deepEqual(lines(found), [['session-revoked', { format: 'opaque', id: chainId }]]);
    assert.deepEqual(
      [found[0]?.event.initiating_entity, found[0]?.event.reason_admin],
      ['user', { en: 'The consent was revoked.' }],
    );
    assert.equal(await scenario.isActive(tokens.access_token), false);
  });

  it('session-revoked for the chain, when its refresh token is used twice', async () => {
    const { client, tokens, chainId } = await consented();
    const token = String(tokens.refresh_token);
    assert.equal((await refresh(client, token)).status, 200);
    t.clock.advance(120_000);
    assert.equal((await refresh(client, token)).status, 400);
    assert.deepEqual(lines(await drain(stream)), [['session-revoked', { format: 'opaque', id: chainId }]]);
  });
});

describe('a person', () => {
  it('session-revoked for a suspended and for a removed person', async () => {
    for (const end of [
      (path: string) => operate('PATCH', path, { status: 'suspended' }),
      (path: string) => operate('DELETE', path),
    ]) {
      const { personId, tokens } = await consented();
      await end(pathOf(personId));
      const found = lines(await drain(stream));
      assert.deepEqual(found[0], ['session-revoked', person(personId)]);
      assert.equal(await scenario.isActive(tokens.access_token), false);
    }
  });

  it('token-claims-change with what the person may still lend: another role, fewer peopleScopes, no share', async () => {
    const resource = await makeResource({ peopleScopes: ['orders:read'] });
    const { personId, tokens } = await consented(resource.identifier);
    const application = { format: 'uri', uri: resource.identifier };
    const subject = { format: 'complex', user: person(personId), application };
    const admin = await t.agent({ allowedScopes: [] });
    const change = (role: string, agentId: string | null) =>
      operate('PATCH', pathOf(personId), { role, agentId });
    await change('admin', admin.agentId);
    assert.deepEqual(lines(await drain(stream)), [
      ['token-claims-change', subject, 'orders:read orders:write refund'],
    ]);
    await change('member', null);
    assert.deepEqual(lines(await drain(stream)), [['token-claims-change', subject, 'orders:read']]);
    assert.equal(await scenario.isActive(tokens.access_token), true);
    await operate('PATCH', `/resources/${resource.resourceId}`, { peopleScopes: [] });
    const narrowed = lines(await drain(stream)).filter(([, sub]) => isDeepStrictEqual(sub, subject));
    assert.deepEqual(narrowed, [['token-claims-change', subject, '']]);
    assert.equal(await scenario.isActive(tokens.access_token), false);
  });

  it('nothing for another name', async () => {
    const { personId } = await consented();
    await operate('PATCH', pathOf(personId), { name: 'Another name' });
    assert.deepEqual(await drain(stream), []);
  });
});
