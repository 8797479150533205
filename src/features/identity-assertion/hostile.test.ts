/** Every change of a valid identity assertion is refused and recorded, makes no person and no chain, and the client is not told why. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, exportJWK, SignJWT } from 'jose';
import { makeKey, startIssuer } from '../../../test/support/peers/issuers.ts';
import { redirectUri } from '../../../test/support/scenarios/authorization.ts';
import { createProver } from '../../../test/support/scenarios/dpop.ts';
import { createAssertionScenario } from '../../../test/support/scenarios/identity-assertions.ts';
import { limits } from '../../contract/limits.ts';

const scenario = await createAssertionScenario();
const { t, issuer: ownIssuer, provider, connection, client, operate } = scenario;
const { sign, present, refused, peopleOf, countChains, organizationId } = scenario;

const seconds = () => Math.floor(t.clock.now() / 1_000);
const nested = (levels: number): object | undefined =>
  levels === 0 ? undefined : { sub: `actor-${levels}`, act: nested(levels - 1) };
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const stranger = await startIssuer(t.clock);
/** How often a client was looked for under the organization's client policy. */
/** Once to authenticate the client, and once in the transaction that stores its document. */
const policyReads = async () =>
  /^service_db_query_duration_seconds_count\{operation="clients.findPolicy"\} (\d+)$/m.exec(
    (await t.call('GET', '/metrics')).text,
  )?.[1] ?? 0;
const otherClient = await scenario.confidential();

describe('mutations of an identity assertion', () => {
  it('200 unchanged, and with the optional claims', async () => {
    assert.equal((await present(await sign())).status, 200);
    const optional = { tenant: 'a', aud_sub: `own-${randomUUID()}`, email: 'a@b.example', act: nested(10) };
    assert.equal((await present(await sign(optional))).status, 200);
    assert.equal(
      (await present(await sign({}, { header: { typ: 'application/OAuth-ID-JAG+JWT' } }))).status,
      200,
    );
    assert.equal((await present(await sign({ aud: [ownIssuer] }))).status, 200);
  });

  const claims: [string, Record<string, unknown> | (() => Record<string, unknown>), string][] = [
    ['another issuer', () => ({ iss: stranger.url }), 'no active connection with idJag for this issuer'],
    [
      'the issuer with a slash',
      () => ({ iss: `${provider.url}/` }),
      'no active connection with idJag for this issuer',
    ],
    ['our own issuer', { iss: ownIssuer }, 'own_token'],
    ['no issuer', { iss: undefined }, 'missing_claim'],
    ['no subject', { sub: undefined }, 'sub is missing or is no text'],
    ['an empty subject', { sub: '' }, 'sub is missing or is no text'],
    ['a subject that is a number', { sub: 7 }, 'malformed'],
    ['a subject that is no name of a person', { sub: 'a\u0007' }, 'invalid subject'],
    ['an aud_sub that is no text', { aud_sub: {} }, 'aud_sub is no text'],
    ['another audience', { aud: 'https://other.example' }, 'audience_mismatch'],
    ['the token endpoint as audience', { aud: `${ownIssuer}/api/v1/token` }, 'audience_mismatch'],
    ['our issuer with a slash as audience', { aud: `${ownIssuer}/` }, 'audience_mismatch'],
    ['two audiences', { aud: [ownIssuer, 'https://other.example'] }, 'audience_mismatch'],
    ['our issuer twice', { aud: [ownIssuer, ownIssuer] }, 'audience_mismatch'],
    ['no audience', { aud: undefined }, 'audience_mismatch'],
    ['no client', { client_id: undefined }, 'client_id is missing or is no text'],
    ['another client', () => ({ client_id: otherClient.clientId }), 'the assertion is for another client'],
    [
      'the client in other letters',
      () => ({ client_id: client.clientId.toUpperCase() }),
      'the assertion is for another client',
    ],
    ['no jti', { jti: undefined }, 'jti is missing or is no text'],
    ['an empty jti', { jti: '' }, 'jti is missing or is no text'],
    ['no exp', { exp: undefined }, 'missing_claim'],
    ['no iat', { iat: undefined }, 'missing_claim'],
    ['an exp that has passed', () => ({ exp: seconds() }), 'expired'],
    ['an exp that is text', () => ({ exp: String(seconds() + 60) }), 'malformed'],
    ['an iat in the future', () => ({ iat: seconds() + 120 }), 'issued_in_future'],
    ['an nbf in the future', () => ({ nbf: seconds() + 120 }), 'not_yet_valid'],
    ['scopes that are no text', { scope: ['orders:read'] }, 'scope is no text'],
    ['a key without a proof', { cnf: { jkt: 'a'.repeat(43) } }, 'no DPoP proof by the key of the assertion'],
    ['a certificate', { cnf: { 'x5t#S256': 'a' } }, 'no DPoP proof by the key of the assertion'],
    ['an empty confirmation', { cnf: {} }, 'no DPoP proof by the key of the assertion'],
    ['a confirmation that is null', { cnf: null }, 'no DPoP proof by the key of the assertion'],
  ];
  for (const [name, changes, reason] of claims) {
    it(`400 invalid_grant with ${name}`, async () => {
      const chains = await countChains();
      const subject = `hostile-${randomUUID()}`;
      const mutated = await sign({ sub: subject, ...(typeof changes === 'function' ? changes() : changes) });
      assert.equal((await refused('invalid_grant', mutated)).reason, reason);
      assert.equal(await countChains(), chains, 'no chain');
      assert.deepEqual(await peopleOf(subject), [], 'no person');
    });
  }

  const headers: [string, () => Promise<string>, string][] = [
    [
      'another key with the same kid',
      async () => {
        const [key] = provider.keys;
        assert.ok(key);
        return sign({}, { key: { ...(await makeKey()), kid: key.kid } });
      },
      'bad_signature',
    ],
    ['an unknown key', async () => sign({}, { key: await makeKey() }), 'unknown_key'],
    [
      'a key in the header',
      async () => {
        const key = await makeKey();
        return sign({}, { key, header: { jwk: key.publicJwk, kid: 'none' } });
      },
      'unknown_key',
    ],
    ['a critical header', () => sign({}, { header: { crit: ['b64'], b64: true } }), 'critical_header'],
    ['typ JWT', () => sign({}, { header: { typ: 'JWT' } }), 'type_not_allowed'],
    ['typ at+jwt', () => sign({}, { header: { typ: 'at+jwt' } }), 'type_not_allowed'],
    [
      'alg none',
      async () => {
        const [, payload] = (await sign()).split('.');
        return `${encode({ alg: 'none', typ: 'oauth-id-jag+jwt' })}.${payload}.`;
      },
      'algorithm_not_allowed',
    ],
    [
      'an HMAC with the public key',
      async () => {
        const [, payload] = (await sign()).split('.');
        const claims = JSON.parse(Buffer.from(String(payload), 'base64url').toString());
        const secret = Buffer.from(JSON.stringify(provider.keys[0]?.publicJwk));
        return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'oauth-id-jag+jwt' }).sign(secret);
      },
      'algorithm_not_allowed',
    ],
    [
      'other claims under the signature',
      async () => {
        const [header, payload, signature] = (await sign()).split('.');
        const claims = JSON.parse(Buffer.from(String(payload), 'base64url').toString());
        return `${header}.${encode({ ...claims, scope: 'orders:write' })}.${signature}`;
      },
      'bad_signature',
    ],
    [
      'the signature of another assertion',
      async () => {
        const [[header, payload], [, , signature]] = [(await sign()).split('.'), (await sign()).split('.')];
        return `${header}.${payload}.${signature}`;
      },
      'bad_signature',
    ],
    ['a part left out', async () => (await sign()).split('.').slice(0, 2).join('.'), 'malformed'],
    ['a part added', async () => `${await sign()}.e30`, 'malformed'],
    ['more than 16 KiB', () => sign({ padding: 'x'.repeat(16_384) }), 'too_large'],
  ];
  for (const [name, make, reason] of headers) {
    it(`400 invalid_grant with ${name}`, async () => {
      const chains = await countChains();
      assert.equal((await refused('invalid_grant', await make())).reason, reason);
      assert.equal(await countChains(), chains);
    });
  }

  it('200 and 400 with long texts of characters that take two units: the log has their beginning', async () => {
    const long = `${'a'.repeat(255)}\u{1f600}`;
    assert.equal((await present(await sign({ jti: long }))).status, 200);
    const { metadata } = await refused('invalid_grant', await sign({ jti: long, client_id: 'x' }));
    assert.equal(metadata.assertionId, `${'a'.repeat(255)}\ufffd`);
    await refused('invalid_grant', await sign({ iss: `https://${long}`, sub: long }));
    await refused('invalid_grant', await sign({ sub: `${'a'.repeat(254)}\u{1f600}`, client_id: 'x' }));
    await refused('invalid_scope', await sign({ scope: long }), {
      scope: long,
      resource: scenario.resource.identifier,
    });
  });

  it('400 invalid_request with more than ten nested actors, however many', async () => {
    for (const levels of [11, 40, 200])
      assert.equal(
        (await refused('invalid_request', await sign({ act: nested(levels) }))).reason,
        'too_many_actors',
      );
  });

  it('400 invalid_grant for an assertion that we have signed ourselves, and for our access token', async () => {
    assert.equal((await refused('invalid_grant', await t.token())).reason, 'type_not_allowed');
  });

  it('400 invalid_request without an assertion; the query string is not read', async () => {
    const { status, json } = await t.askToken({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ...client.credentials,
    });
    assert.deepEqual([status, json.error], [400, 'invalid_request']);
  });
});

describe('a refused assertion for a person who is not known', () => {
  const refusedFor = async (
    error: string,
    changes: Record<string, unknown>,
    ...[more, presenter, headers]: [
      Record<string, string>?,
      Parameters<typeof refused>[3]?,
      Record<string, string>?,
    ]
  ) => {
    const subject = `unknown-${randomUUID()}`;
    const { reason } = await refused(
      error,
      await sign({ sub: subject, ...changes }),
      more,
      presenter,
      headers,
    );
    assert.deepEqual(await peopleOf(subject), [], 'no person');
    return reason;
  };

  it('400 invalid_scope, invalid_target and invalid_authorization_details: no person', async () => {
    const [none, other] = [await scenario.makeResource({ peopleScopes: [] }), await scenario.makeResource()];
    await refusedFor('invalid_scope', { resource: none.identifier });
    await refusedFor('invalid_scope', { scope: 'orders:read orders:write' }, { scope: 'orders:read' });
    await refusedFor('invalid_scope', { scope: 'orders:delete' });
    await refusedFor('invalid_target', {}, { resource: other.identifier });
    await refusedFor('invalid_authorization_details', { authorization_details: [{ type: 'payment' }] });
    await refusedFor('invalid_authorization_details', {}, { authorization_details: '[{"type":"payment"}]' });
  });

  it('401, 403 and 400 for a client that gets no token: no person', async () => {
    const closed = await scenario.confidential();
    const change = (payload: object) => operate('PATCH', `/agents/${closed.agentId}`, payload);
    const assertion = { client_id: closed.clientId };
    await change({ dpopBoundAccessTokens: true });
    const reason = await refusedFor('invalid_dpop_proof', assertion, {}, closed);
    assert.equal(reason, 'no proof of possession');
    await change({ dpopBoundAccessTokens: false, status: 'suspended' });
    assert.equal(await refusedFor('unauthorized_client', assertion, {}, closed), 'the agent is suspended');
    const open = await scenario.publicClient();
    await refusedFor('unauthorized_client', { client_id: open.clientId }, {}, open);
    const wrong = { credentials: { client_id: client.clientId, client_secret: 'cs_wrong' } };
    await refusedFor('invalid_client', {}, {}, wrong);
  });

  it('400 invalid_dpop_proof for a proof that was used before: no person', async () => {
    const prover = await createProver(t);
    const dpop = await prover.proof({ claims: { htu: `${ownIssuer}/api/v1/token` } });
    const first = await present(await sign(), {}, client, { dpop });
    assert.equal(first.status, 200, first.text);
    const subject = `person-${randomUUID()}`;
    const { reason } = await refused('invalid_dpop_proof', await sign({ sub: subject }), {}, client, {
      dpop,
    });
    assert.equal(reason, 'the proof was used before');
    assert.deepEqual(await peopleOf(subject), []);
  });

  it('400 invalid_grant with the reason in the log while the organization has as many people as it may have', async () => {
    await t.sql(
      `insert into people (person_id, organization_id, issuer, subject, name, role, created_at, updated_at)
       select gen_random_uuid(), $1, 'https://x.example', n::text, 'filler', 'member', now(), now()
       from generate_series(1, $2::int) as n`,
      [organizationId, limits.peoplePerOrganization],
    );
    assert.equal(await refusedFor('invalid_grant', {}), 'too many people');
    await t.sql("delete from people where name = 'filler'");
  });
});

describe('who presents an identity assertion', () => {
  it('401 invalid_client with a wrong secret, or without client authentication', async () => {
    const wrong = { credentials: { client_id: client.clientId, client_secret: 'cs_wrong' } };
    await refused('invalid_client', await sign(), {}, wrong);
    await refused('invalid_client', await sign(), {}, { credentials: { client_id: client.clientId } });
    const { status, json } = await present(await sign(), {}, { credentials: {} });
    assert.deepEqual([status, json.error], [401, 'invalid_client']);
  });

  it('403 unauthorized_client for a registered public client', async () => {
    const open = await scenario.publicClient();
    await refused('unauthorized_client', await sign({ client_id: open.clientId }), {}, open);
  });

  it('200 for a public client by its document, which becomes an agent; 400 for another address or without a valid signature', async () => {
    const open = scenario.documentClient();
    const agents = () => t.sql('select agent_id from agents where client_uri = $1', [open.clientId]);
    const forged = await sign({ client_id: open.clientId }, { key: await makeKey() });
    await refused('invalid_grant', forged, {}, open);
    await refused('invalid_grant', await sign(), {}, open);
    assert.deepEqual(await agents(), [], 'nothing was registered');
    const { status, json } = await present(await sign({ client_id: open.clientId }), {}, open);
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal((await agents()).length, 1);
    const before = await policyReads();
    assert.equal((await present(await sign({ client_id: open.clientId }), {}, open)).status, 200);
    assert.equal(
      Number(await policyReads()),
      Number(before) + 1,
      'an unchanged document takes no transaction',
    );
    const { reason, organization_id } = await refused('invalid_grant', await sign(), {}, open);
    assert.deepEqual([reason, organization_id], ['the assertion is for another client', organizationId]);
    await refused('invalid_request', await sign({ client_id: open.clientId, act: nested(11) }), {}, open);
    await refused(
      'invalid_client',
      await sign({ client_id: open.clientId }),
      {},
      { credentials: { client_id: open.clientId, client_secret: 'x' } },
    );
  });

  it('400 invalid_grant or 401 invalid_client for a client_id that is no address, whatever the assertion says', async () => {
    for (const clientId of ['https://[', 'https://', 'https://%', 'https://app.example:99999/client.json']) {
      const assertion = await sign({ client_id: clientId });
      await refused('invalid_grant', assertion, {}, { credentials: { client_id: clientId } });
    }
    for (const iss of ['https://[', 'https://app.example/\0', 'https://app.example/\ud800']) {
      const claims = {
        iss,
        sub: iss,
        aud: ownIssuer,
        jti: randomUUID(),
        iat: seconds(),
        exp: seconds() + 60,
      };
      const credentials = {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: `${encode({ alg: 'EdDSA', kid: 'one' })}.${encode(claims)}.AAAA`,
      };
      await refused('invalid_client', await sign(), {}, { credentials });
    }
  });

  it('200 for a document client with keys, by its assertion; its keys are read again', async () => {
    const keyed = scenario.documentClient();
    const publish = async () => {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] };
      const document = { client_id: keyed.clientId, client_name: 'Keyed', redirect_uris: [redirectUri] };
      scenario.documents.set(keyed.path, {
        ...document,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks,
      });
      return async () => ({
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await new SignJWT({
          ...{ iss: keyed.clientId, sub: keyed.clientId, aud: ownIssuer, jti: randomUUID() },
          ...{ iat: seconds(), exp: seconds() + 60 },
        })
          .setProtectedHeader({ alg: 'EdDSA', kid: 'one', typ: 'client-authentication+jwt' })
          .sign(privateKey),
      });
    };
    const first = await publish();
    const assertion = await sign({ client_id: keyed.clientId, exp: seconds() + 90_000 });
    const ok = await present(assertion, {}, { credentials: await first() });
    assert.equal(ok.status, 200, ok.text);
    const second = await publish();
    t.clock.advance(86_400_000);
    assert.equal((await present(assertion, {}, { credentials: await second() })).status, 200);
    await refused('invalid_client', assertion, {}, { credentials: await first() });
  });

  it('refused by the client policy: unknown with `off`, and until an administrator activates it with `approval`', async () => {
    const set = (mode: string) =>
      operate('PUT', `/organizations/${organizationId}/client-policy`, { mode, domains: [] });
    const [known, closed, waiting] = [
      scenario.documentClient(),
      scenario.documentClient(),
      scenario.documentClient(),
    ];
    const ofKnown = await sign({ client_id: known.clientId });
    assert.equal((await present(ofKnown, {}, known)).status, 200);
    await set('off');
    await refused('invalid_grant', await sign({ client_id: closed.clientId }), {}, closed);
    await refused('invalid_grant', ofKnown, {}, known);
    await set('approval');
    assert.equal((await present(ofKnown, {}, known)).status, 200, 'its agent is active');
    await refused('unauthorized_client', await sign({ client_id: waiting.clientId }), {}, waiting);
    await set('any');
  });
});

describe('what an identity assertion depends on', () => {
  const patch = (change: object) =>
    operate('PATCH', `/organizations/${organizationId}/connections/${connection.connectionId}`, change);

  it('400 invalid_grant while the connection is disabled, does not accept assertions, or its conditions are not met', async () => {
    const unknown = 'no active connection with idJag for this issuer';
    await patch({ idJag: false });
    assert.equal((await refused('invalid_grant', await sign())).reason, unknown);
    await patch({ idJag: true, status: 'disabled' });
    assert.equal((await refused('invalid_grant', await sign())).reason, unknown);
    await patch({ status: 'active', conditions: [{ claim: 'team', operator: 'equals', values: ['red'] }] });
    const { reason, metadata } = await refused('invalid_grant', await sign({ team: 'blue' }));
    assert.deepEqual([reason, metadata.failed], ['conditions not met', ['condition team equals']]);
    assert.equal((await present(await sign({ team: 'red' }))).status, 200);
    await patch({ conditions: [{ claim: 'email', operator: 'glob', values: ['*@company.example'] }] });
    await refused('invalid_grant', await sign({ email: 'a@company.example', email_verified: false }));
    await patch({ conditions: [] });
  });

  it('a connection accepts no assertions unless it says so', async () => {
    const other = await startIssuer(t.clock);
    const made = await scenario.connect({ issuer: other.url, idJag: undefined });
    assert.equal(made.idJag, false);
  });

  it('400 invalid_grant for a person who is suspended; the tokens end at once', async () => {
    const subject = `suspended-${randomUUID()}`;
    const { json } = await present(await sign({ sub: subject }));
    const [person] = await peopleOf(subject);
    await operate('PATCH', `/organizations/${organizationId}/people/${person?.person_id}`, {
      status: 'suspended',
    });
    assert.equal(await scenario.isActive(json.access_token), false);
    assert.equal((await refused('invalid_grant', await sign({ sub: subject }))).reason, 'person suspended');
  });

  it('narrowing what people may lend ends the token', async () => {
    const own = await scenario.makeResource();
    const { json } = await present(await sign({ resource: own.identifier }));
    assert.equal(await scenario.isActive(json.access_token), true);
    await operate('PATCH', `/resources/${own.resourceId}`, { peopleScopes: [] });
    assert.equal(await scenario.isActive(json.access_token), false);
  });

  it('a key in the assertion: 200 with a proof by it, and the token is bound to it; 400 with a proof by another', async () => {
    const [mine, other] = [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ];
    const jwk = await exportJWK(mine.publicKey);
    const jkt = await calculateJwkThumbprint(jwk);
    const proof = async ({ privateKey, publicKey }: typeof mine) => ({
      dpop: await new SignJWT({
        jti: randomUUID(),
        htm: 'POST',
        htu: `${ownIssuer}/api/v1/token`,
        iat: seconds(),
      })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
        .sign(privateKey),
    });
    const assertion = await sign({ cnf: { jkt } });
    await refused('invalid_grant', assertion, {}, client, await proof(other));
    const { status, json } = await present(assertion, {}, client, await proof(mine));
    assert.deepEqual([status, json.token_type], [200, 'DPoP'], JSON.stringify(json));
  });

  it('the details of the assertion are those of the token; 400 invalid_authorization_details for others', async () => {
    const detailTypes = [
      {
        type: 'payment',
        description: 'A payment',
        schema: {
          type: 'object',
          properties: { type: { const: 'payment' }, amount: { type: 'integer' } },
          required: ['type', 'amount'],
          additionalProperties: false,
        },
      },
    ];
    const own = await scenario.makeResource({ authorizationDetailTypes: detailTypes });
    const details = [{ type: 'payment', amount: 5 }];
    const base = { resource: own.identifier, scope: undefined };
    const { status, json } = await present(await sign({ ...base, authorization_details: details }));
    assert.deepEqual(
      [status, json.scope, json.authorization_details],
      [200, '', details],
      JSON.stringify(json),
    );
    const code = 'invalid_authorization_details';
    await refused(code, await sign({ ...base, authorization_details: [{ type: 'payment', amount: 'x' }] }));
    await refused(code, await sign({ ...base, authorization_details: 'payment' }));
    await refused(code, await sign({ ...base, authorization_details: details }), {
      authorization_details: JSON.stringify([{ type: 'payment', amount: 6 }]),
    });
    await refused(code, await sign(base), { authorization_details: JSON.stringify(details) });
  });
});
