/** ID-JAG at the token endpoint: the company's identity provider vouches for an agent and a person. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createAssertionScenario } from '../../../test/support/scenarios/identity-assertions.ts';

const {
  t,
  issuer: ownIssuer,
  provider,
  connect,
  connection,
  client,
  operate,
  resource,
  makeResource,
  isActive,
  sign,
  present,
  refused,
  peopleOf,
} = await createAssertionScenario();

type Changes = Readonly<Record<string, unknown>>;

describe('jwt-bearer with an identity assertion', () => {
  it('200 for a person who has never signed in: a member, a chain that ends with the token, no refresh token', async () => {
    const subject = `new-${randomUUID()}`;
    const assertion = await sign({
      sub: subject,
      email: 'ada@company.example',
      email_verified: true,
      name: 'Ada',
    });
    const { status, json } = await present(assertion, { scope: 'orders:read orders:write' });
    assert.equal(status, 200, JSON.stringify(json));
    const { access_token, ...rest } = json;
    assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 3_600, scope: 'orders:read' });
    const [person] = await peopleOf(subject);
    assert.deepEqual(
      [person?.role, person?.connection_id, person?.email],
      ['member', connection.connectionId, 'ada@company.example'],
    );
    const claims = decodeJwt(access_token);
    assert.deepEqual(
      [claims.sub, claims.sub_profile, claims.aud, claims.client_id, claims.act],
      [
        person?.person_id,
        'person',
        resource.identifier,
        client.agentId,
        { sub: client.agentId, sub_profile: 'ai_agent' },
      ],
    );
    const [chain] = (await operate('GET', `/delegations?personId=${person?.person_id}`)).data;
    assert.deepEqual(
      [chain.chainId, chain.origin, chain.subjectType, chain.status, chain.scopes, chain.allowRedelegation],
      [claims.chain_id, 'assertion', 'person', 'active', ['orders:read'], false],
    );
    assert.equal(Math.floor(Date.parse(chain.expiresAt) / 1_000), claims.exp);
    assert.equal(await isActive(access_token), true);
    const events = await t.sql<{ action: string; metadata: Record<string, unknown> }>(
      "select action, metadata from audit_events where metadata ->> 'personId' = $1 order by event_id",
      [person?.person_id],
    );
    assert.deepEqual(events.map(({ action }) => action).sort(), [
      'consent.granted',
      'person.created',
      'token.issued',
    ]);
    assert.ok(!JSON.stringify(events).includes('ada@'), 'no e-mail in the log');
    const issued = events.find(({ action }) => action === 'token.issued')?.metadata;
    assert.deepEqual([issued?.issuer, issued?.assertionId], [provider.url, decodeJwt(assertion).jti]);
    assert.equal(
      (await t.call('DELETE', `/api/v1/delegations/${chain.chainId}`, { token: await t.token() })).status,
      204,
    );
    assert.equal(await isActive(access_token), false);
  });

  it('200 again until it expires, for the same person; then invalid_grant', async () => {
    const subject = `again-${randomUUID()}`;
    const assertion = await sign({ sub: subject });
    const tokens = await Promise.all([present(assertion), present(assertion), present(assertion)]);
    assert.deepEqual(
      tokens.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal((await peopleOf(subject)).length, 1);
    assert.equal(new Set(tokens.map(({ json }) => decodeJwt(json.access_token).chain_id)).size, 3);
    t.clock.advance(300_000);
    assert.equal((await refused('invalid_grant', assertion)).reason, 'expired');
  });

  it('200 for the person of aud_sub; of sub when no person has that subject', async () => {
    const [own, other] = [`own-${randomUUID()}`, `other-${randomUUID()}`];
    const ask = async (changes: Changes) => {
      const { status, json } = await present(await sign(changes));
      assert.equal(status, 200, JSON.stringify(json));
      return decodeJwt(json.access_token).sub;
    };
    const person = await ask({ sub: own });
    assert.equal(await ask({ sub: other, aud_sub: own }), person);
    assert.equal(await ask({ sub: own, aud_sub: other }), person);
    assert.equal((await peopleOf(other)).length, 0);
  });

  it('200 with the scopes that are requested, asserted and lent; all that are lent when none is named', async () => {
    const narrow = await makeResource({ peopleScopes: ['orders:read'] });
    const scopeOf = async (changes: Changes, more: Record<string, string> = {}) =>
      (await present(await sign(changes), more)).json.scope;
    assert.equal(await scopeOf({ scope: 'orders:read orders:write' }), 'orders:read orders:write');
    assert.equal(await scopeOf({ scope: undefined }), 'orders:read orders:write');
    assert.equal(await scopeOf({ scope: undefined }, { scope: 'orders:write' }), 'orders:write');
    assert.equal(
      await scopeOf({ scope: 'orders:read' }, { scope: 'orders:write orders:read other' }),
      'orders:read',
    );
    assert.equal(
      await scopeOf({ resource: narrow.identifier, scope: 'orders:read orders:write' }),
      'orders:read',
    );
  });

  it('400 invalid_scope for scopes beyond the requested ones, and for nothing that the person may lend', async () => {
    const none = await makeResource({ peopleScopes: [] });
    await refused('invalid_scope', await sign({ scope: 'orders:read orders:write' }), {
      scope: 'orders:read',
    });
    await refused('invalid_scope', await sign({ scope: 'orders:delete' }));
    await refused('invalid_scope', await sign({ scope: '' }));
    await refused('invalid_scope', await sign({ scope: undefined }), { scope: 'orders:delete' });
    await refused('invalid_scope', await sign({ scope: undefined, resource: none.identifier }));
    assert.deepEqual(
      await t.sql("select 1 from delegations where origin = 'assertion' and resource = $1", [
        [none.identifier],
      ]),
      [],
    );
  });

  it('200 for another spelling of the resource, also in the form', async () => {
    const { origin } = new URL(resource.identifier);
    const root = await makeResource({ identifier: origin });
    const { status, json } = await present(await sign({ resource: `${origin}/` }), {
      resource: `${origin}/`,
    });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(decodeJwt(json.access_token).aud, root.identifier);
    assert.equal((await present(await sign({ resource: [resource.identifier] }))).status, 200);
  });

  it('400 invalid_target without a resource, for an unknown one, for several, for our own API, and for another than that of the form', async () => {
    const other = await makeResource();
    await refused('invalid_target', await sign({ resource: undefined }));
    await refused('invalid_target', await sign({ resource: 'https://unknown.example' }));
    await refused('invalid_target', await sign({ resource: ownIssuer }));
    await refused('invalid_target', await sign({ resource: 7 }));
    await refused('invalid_target', await sign({ resource: [resource.identifier, other.identifier] }));
    await refused('invalid_target', await sign(), { resource: other.identifier });
  });

  it('400 invalid_target for the API of another organization, as for one that is not registered', async () => {
    const made = await operate('POST', '/organizations', {
      name: 'Other',
      slug: `other-${randomUUID().slice(0, 8)}`,
    });
    await connect({}, made.organizationId);
    const foreign = await t.agent({ organization_id: made.organizationId });
    const credentials = { client_id: foreign.clientId, client_secret: foreign.clientSecret };
    const assertion = await sign({ client_id: foreign.clientId });
    const { organization_id } = await refused('invalid_target', assertion, {}, { credentials });
    assert.equal(organization_id, made.organizationId);
  });
});
