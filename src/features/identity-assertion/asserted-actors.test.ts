/** `act` of an identity assertion: the actors before the client, which are no agents of ours. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createClient, createVerifier } from '../../../sdk/typescript/src/sdk.ts';
import { createAssertionScenario } from '../../../test/support/scenarios/identity-assertions.ts';

const scenario = await createAssertionScenario();
const { t, issuer, organizationId, operate, provider, client, resource, sign, present, refused } = scenario;

await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const { port } = t.app.http.server.server.address() as AddressInfo;
/** The public address of the instance has no name that resolves. */
const platform = {
  fetch: (url: string | URL | Request, init?: RequestInit) =>
    fetch(String(url).replace(issuer, `http://127.0.0.1:${port}`), init),
};
const reader = await t.agent({ allowedScopes: ['tokens:read'] });
const place = { issuer, audience: resource.identifier as string, organizationId, platform };
const verifiers = [
  createVerifier({ ...place, subjects: 'people', revocation: 'none' }),
  createVerifier({
    ...{ ...place, subjects: 'any', revocation: 'introspect' },
    introspectWith: createClient({
      ...{ issuer, platform },
      clientId: reader.clientId,
      auth: reader.clientSecret,
    }),
  }),
];

const ours = { sub: client.agentId, sub_profile: 'ai_agent' };
const named = (level: number) => ({
  iss: `https://as-${level}.example`,
  sub: `actor-${level}`,
  sub_profile: 'ai_agent',
});
/** The latest first, each made by `level` from 1. */
const nested = (levels: number, level: (at: number) => object = named, at = 1): object => ({
  ...level(at),
  ...(at < levels && { act: nested(levels, level, at + 1) }),
});

async function issued(act: unknown): Promise<string> {
  const { status, json, text } = await present(await sign({ act }));
  assert.equal(status, 200, text);
  return json.access_token;
}

const introspect = async (token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, await t.token())).json;

const issuedEvent = async (token: string) =>
  (
    await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'token.issued' and metadata ->> 'tokenId' = $1",
      [decodeJwt(token).jti],
    )
  )[0]?.metadata;

describe('act of an identity assertion', () => {
  for (const levels of [1, 2, 10])
    it(`200 with ${levels} below our actor: in the token, by introspection, for the SDK, in the log`, async () => {
      const token = await issued(nested(levels));
      const act = { ...ours, act: nested(levels) };
      assert.deepEqual(decodeJwt(token).act, act);
      const introspected = await introspect(token);
      assert.deepEqual([introspected.active, introspected.act], [true, act]);
      for (const verifier of verifiers) {
        const verified = await verifier.verify(token, { scopes: 'orders:read', maxDepth: 1 });
        assert.deepEqual([verified.actors, verified.claims.act], [[client.agentId], act]);
      }
      assert.deepEqual(
        (await issuedEvent(token))?.assertedActors,
        Array.from({ length: levels }, (_, index) => ({
          issuer: `https://as-${index + 1}.example`,
          subject: `actor-${index + 1}`,
        })),
      );
    });

  it('200 without one: only our actor', async () => {
    const token = await issued(undefined);
    assert.deepEqual(decodeJwt(token).act, ours);
    assert.ok(!('assertedActors' in ((await issuedEvent(token)) ?? {})));
  });

  it('200 without iss: named by the issuer of the assertion; other members are left out', async () => {
    const token = await issued({ sub: 'tool', email: 'a@b.example', act: { sub: 'a@b.example', cnf: {} } });
    assert.deepEqual(decodeJwt(token).act, {
      ...ours,
      act: { iss: provider.url, sub: 'tool', act: { iss: provider.url, sub: 'a@b.example' } },
    });
    assert.deepEqual((await issuedEvent(token))?.assertedActors, [
      { issuer: provider.url, subject: 'tool' },
      { issuer: provider.url, subject: 'a@…' },
    ]);
  });

  it('200 with texts of 256 characters at each of ten levels', async () => {
    const long = (at: number) => ({
      iss: `https://as-${at}.example/`.padEnd(256, 'i'),
      sub: `actor-${at}`.padEnd(256, 's'),
      sub_profile: 'p'.repeat(256),
    });
    const token = await issued(nested(10, long));
    assert.deepEqual((await introspect(token)).act, { ...ours, act: nested(10, long) });
    for (const verifier of verifiers) await verifier.verify(token);
  });

  it('is no agent of ours, whatever its sub: its suspension does not end the token', async () => {
    const other = await t.agent({ allowedScopes: ['agents:read'] });
    const token = await issued({ sub: other.agentId, act: { iss: issuer, sub: other.agentId } });
    await operate('PATCH', `/agents/${other.agentId}`, { status: 'suspended' });
    assert.equal((await introspect(token)).active, true);
    for (const verifier of verifiers)
      assert.deepEqual((await verifier.verify(token)).actors, [client.agentId]);
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' });
    assert.equal((await introspect(token)).active, false);
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'active' });
  });
});

describe('a refused act', () => {
  const malformed: [string, unknown, string][] = [
    ['null', null, 'act is no object'],
    ['text', 'tool', 'act is no object'],
    ['a list', [{ sub: 'tool' }], 'act is no object'],
    ['a number within', { sub: 'tool', act: 7 }, 'act.act is no object'],
    ['null within', { sub: 'tool', act: null }, 'act.act is no object'],
    ['no sub', {}, 'act.sub must be text of 1 to 256 characters'],
    ['a sub that is a number', { sub: 7 }, 'act.sub must be text of 1 to 256 characters'],
    ['an empty sub', { sub: '' }, 'act.sub must be text of 1 to 256 characters'],
    ['a long sub', { sub: 'a'.repeat(257) }, 'act.sub must be text of 1 to 256 characters'],
    ['no sub within', { sub: 'a', act: { iss: 'b' } }, 'act.act.sub must be text of 1 to 256 characters'],
    ['an iss that is null', { iss: null, sub: 'a' }, 'act.iss must be text of 1 to 256 characters'],
    ['an empty iss', { iss: '', sub: 'a' }, 'act.iss must be text of 1 to 256 characters'],
    ['a long iss', { iss: 'a'.repeat(257), sub: 'a' }, 'act.iss must be text of 1 to 256 characters'],
    [
      'a sub_profile that is a list',
      { sub: 'a', sub_profile: ['ai_agent'] },
      'act.sub_profile must be text of 1 to 256 characters',
    ],
  ];
  for (const [what, act, reason] of malformed)
    it(`400 invalid_request for ${what}: no person, and the log names the claim`, async () => {
      const subject = `person-${randomUUID()}`;
      const { metadata } = await refused('invalid_request', await sign({ sub: subject, act }));
      assert.deepEqual([metadata.reason, metadata.issuer], [reason, provider.url]);
      assert.deepEqual(await scenario.peopleOf(subject), []);
    });

  it('400 invalid_request with eleven levels, and with a thousand, whose assertion is too long otherwise', async () => {
    const short = () => ({ sub: 'a' });
    const thousand = await sign({ act: nested(1_000, short) });
    assert.ok(thousand.length > 16 * 1_024, 'longer than an assertion may be');
    for (const assertion of [await sign({ act: nested(11) }), thousand]) {
      const { status, json } = await present(assertion);
      assert.deepEqual([status, json.error], [400, 'invalid_request']);
      assert.equal((await refused('invalid_request', assertion)).reason, 'too_many_actors');
    }
  });
});
