/** Every reason for which a token with our signature is refused, with a fake signer and fake statuses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAccessTokenClaims, readDelegation, scopesEpoch } from './access-token-claims.ts';
import type { TokenDeps } from './feature.ts';
import type { CachedAgent, StatusQuery, TokenStatus } from './token-status.ts';
import { createTokenVerifier } from './verify-token.ts';

const issuer = 'https://id.test';
const api = 'https://api.test/';
const now = Date.parse('2030-01-01T00:00:00.000Z');
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
/** A token id of version 7 contains its time. */
const tokenIdAt = (time: number) => {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};
const isoAt = (time: number) => new Date(time).toISOString();
const [agentId, organizationId, subjectId, middleId] = [uuid(1), uuid(2), uuid(3), uuid(4)];
const [firstChain, lastChain] = [uuid(5), uuid(6)];
const issuedAt = now - 60_000;

const own = (changes: object = {}) => ({
  aud: issuer,
  sub: agentId,
  client_id: agentId,
  scope: 'agents:read agents:write',
  organization_id: organizationId,
  jti: tokenIdAt(issuedAt),
  iat: issuedAt / 1000,
  exp: now / 1000 + 60,
  credential_id: null,
  epoch: 30,
  ...changes,
});
/** From the subject over another agent to the holder. */
const delegated = (changes: object = {}) =>
  own({
    sub: subjectId,
    act: { sub: agentId, act: { sub: middleId } },
    chain_id: lastChain,
    chain_path: [firstChain, lastChain],
    ...changes,
  });
const nested = (first: string, second: string, act: object) => ({ sub: first, act: { sub: second, act } });
/** Of another issuer; the subject looks like one of ours. */
const asserted = (levels: number): object => ({
  iss: 'https://as.example',
  sub: middleId,
  ...(levels > 1 && { act: asserted(levels - 1) }),
});
const cachedAgent = (changes: Partial<CachedAgent> = {}): CachedAgent => ({
  agentStatus: 'active',
  allowedScopes: ['agents:read'],
  tokensEndedAt: null,
  epoch: 0,
  rateLimitPerMinute: null,
  ...changes,
});
const statusWith = (changes: Partial<TokenStatus> = {}): TokenStatus => ({
  ...cachedAgent({ epoch: 10, allowedScopes: ['agents:read', 'agents:write'], rateLimitPerMinute: 9 }),
  agentId,
  organizationId,
  organizationStatus: 'active',
  planTier: 'pro',
  maxTokensPerMonth: null,
  organizationEpoch: 20,
  ...changes,
});
const later = isoAt(now + 1);
const chainWith = (
  agents: CachedAgent[] = [cachedAgent(), cachedAgent()],
  links = [
    { revoked: false, expiresAt: later },
    { revoked: false, expiresAt: later },
  ],
) => ({ agents, links });

interface Fixture {
  readonly claims?: unknown;
  readonly status?: TokenStatus | 'revoked' | undefined;
  readonly resourceIdentifiers?: TokenDeps['resourceIdentifiers'];
  readonly isOwnerActive?: boolean;
}

function createFixture({
  claims = own(),
  resourceIdentifiers = 'verified',
  isOwnerActive = true,
  ...given
}: Fixture = {}) {
  const lookups: string[] = [];
  const queries: StatusQuery[] = [];
  const expectations: unknown[] = [];
  const state = { now, status: 'status' in given ? given.status : statusWith() };
  const verifier = createTokenVerifier({
    clock: { now: () => state.now },
    issuer,
    resourceIdentifiers,
    metrics: {
      counter:
        (_name: string, { result }: { result: string }) =>
        () =>
          void lookups.push(result),
    },
    signer: {
      verify: async (_token: string, expected: unknown) => {
        expectations.push(expected);
        return claims;
      },
    },
    statuses: {
      get(query: StatusQuery) {
        queries.push(query);
        return state.status;
      },
      isActive: async () => isOwnerActive,
    },
  } as unknown as TokenDeps);
  const scopesOf = async () => (await verifier.verify('text'))?.scopes;
  return { ...verifier, state, scopesOf, lookups, queries, expectations };
}

describe('the claims of an access token', () => {
  it('are those that draft-token.ts writes', () => {
    for (const claims of [
      own(),
      own({ credential_id: undefined, epoch: undefined }),
      own({ credential_id: uuid(7), trust_policy_id: uuid(8) }),
      delegated(),
    ])
      assert.equal(isAccessTokenClaims(claims), true);
  });
  for (const [name, changes] of Object.entries({
    'an audience of another type': { aud: [issuer] },
    'no scope': { scope: undefined },
    'a time with a fraction': { exp: now / 1000 + 0.5 },
    'no time of issue': { iat: undefined },
    'a client that is no UUID': { client_id: 'x', sub: 'x' },
    'an id that is no UUID': { jti: 'x' },
    'an organization that is no UUID': { organization_id: 'x' },
    'an epoch with a fraction': { epoch: 1.5 },
    'a credential that is no UUID': { credential_id: 'x' },
    'a policy that is no UUID': { trust_policy_id: 'x' },
    'another subject without a chain': { sub: subjectId },
    'an actor without a chain': { act: { sub: agentId } },
    'a chain without an actor': { chain_id: lastChain },
  })) {
    it(`refused: ${name}`, () => assert.equal(isAccessTokenClaims(own(changes)), false));
  }
  for (const [name, changes] of Object.entries({
    'no path': { chain_path: undefined },
    'an empty path': { chain_path: [], act: undefined },
    'an empty path beside an actor': { chain_path: [] },
    'a path that is no list': { chain_path: lastChain },
    'more actors than links': { chain_path: [lastChain] },
    'fewer actors than links': { act: { sub: agentId } },
    'an actor that is null': { act: null },
    'a nested actor that is null': { act: { sub: agentId, act: null } },
    'a text below the last actor': { act: { sub: agentId, act: { sub: middleId, act: 'x' } } },
    'another agent as the actor': { act: { sub: middleId, act: { sub: agentId } } },
    'an actor of another issuer as the actor': {
      act: { iss: 'https://as.example', sub: agentId, act: { sub: middleId } },
    },
    'an actor of another issuer between ours': {
      act: { sub: agentId, act: { iss: 'https://as.example', sub: middleId } },
    },
    'an actor of ours below one of another issuer': {
      act: nested(agentId, middleId, { iss: 'https://as.example', sub: 'x', act: { sub: middleId } }),
    },
    'an actor of another issuer that is no text': { act: nested(agentId, middleId, { iss: 'x', sub: 7 }) },
    'an issuer that is no text': { act: nested(agentId, middleId, { iss: null, sub: 'x' }) },
    'null below an actor of another issuer': {
      act: nested(agentId, middleId, { iss: 'https://as.example', sub: 'x', act: null }),
    },
    'eleven actors of another issuer': { act: nested(agentId, middleId, asserted(11)) },
    'another chain at the end': { chain_id: firstChain },
    'an actor that is no UUID': { act: { sub: agentId, act: { sub: 'x' } } },
    'a link that is no UUID': { chain_path: ['x', lastChain] },
    'a subject that is no UUID': { sub: 'x' },
  })) {
    it(`no delegation: ${name}`, () => {
      assert.equal(readDelegation(delegated(changes) as never), undefined);
      assert.equal(isAccessTokenClaims(delegated(changes)), false);
    });
  }
  it('have the chain from the actor to the subject', () => {
    const expected = { subjectId, actorIds: [agentId, middleId], chainIds: [firstChain, lastChain] };
    assert.deepEqual(readDelegation(delegated() as never), expected);
    for (const levels of [1, 10])
      assert.deepEqual(
        readDelegation(delegated({ act: nested(agentId, middleId, asserted(levels)) }) as never),
        expected,
        `${levels} of another issuer below`,
      );
    const direct = delegated({ act: { sub: agentId }, chain_id: lastChain, chain_path: [lastChain] });
    assert.deepEqual(readDelegation(direct as never), {
      subjectId,
      actorIds: [agentId],
      chainIds: [lastChain],
    });
  });
  it('count the epochs of the scopes that the token carries', () => {
    assert.equal(scopesEpoch({ a: 2, b: 3, c: 5 }, ['a', 'b', 'toString']), 5);
  });
});

describe('a token of our own API', () => {
  it('is valid with the scopes that its agent may hold now', async () => {
    const { verify, authenticate, expectations } = createFixture({
      claims: own({
        scope: ' agents:read  audit:read ',
        credential_id: uuid(7),
        key_id: 'k',
        trust_policy_id: uuid(8),
      }),
    });
    const verified = await verify('text', issuer);
    assert.deepEqual(verified?.scopes, ['agents:read']);
    assert.ok(!('delegation' in (verified ?? {})) && !('ended' in (verified ?? {})));
    assert.deepEqual(await authenticate('text'), {
      agentId,
      organizationId,
      organizationStatus: 'active',
      planTier: 'pro',
      rateLimitPerMinute: 9,
      scopes: new Set(['agents:read']),
      grantableScopes: new Set(['agents:read']),
      tokenId: own().jti,
      tokenExpiresAt: now + 60_000,
      credentialId: uuid(7),
      keyId: 'k',
      trustPolicyId: uuid(8),
    });
    const [expected] = expectations as { requiredClaims: string[] }[];
    assert.deepEqual(
      { ...expected, requiredClaims: [] },
      { typ: 'at+jwt', requiredClaims: [], allowExpired: true },
    );
    assert.ok(expected?.requiredClaims.includes('jti') && expected.requiredClaims.includes('exp'));
  });
  it('has no credential, key, policy or delegation in the identity without the claims', async () => {
    const identity = await createFixture().authenticate('text');
    for (const name of ['credentialId', 'keyId', 'trustPolicyId', 'delegation', 'ended'])
      assert.ok(identity && !(name in identity), name);
  });
  it('is verified once while it is the same text, and its status each time', async () => {
    const { verify, lookups, expectations, queries, state } = createFixture();
    const first = await verify('text');
    assert.equal(await verify('text'), first);
    assert.deepEqual(lookups, ['miss', 'hit']);
    assert.deepEqual([expectations.length, queries.length], [1, 2]);
    state.status = statusWith({ allowedScopes: [] });
    assert.deepEqual((await verify('text'))?.scopes, []);
    state.now = now + 60_000;
    assert.equal(await verify('text'), undefined);
  });
  it('is not cached when it has expired', async () => {
    const { verify, lookups, queries } = createFixture({ claims: own({ exp: now / 1000 }) });
    assert.equal(await verify('text'), undefined);
    assert.equal(await verify('text'), undefined);
    assert.deepEqual(lookups, ['miss', 'miss']);
    assert.deepEqual(queries, []);
  });
  it('asks for the status of its own agent and credential', async () => {
    const { verify, queries } = createFixture({ claims: own({ credential_id: uuid(7) }) });
    await verify('text');
    const [query] = queries;
    assert.deepEqual(
      [query?.agentId, query?.credentialId, query?.audience, query?.delegation],
      [agentId, uuid(7), undefined, undefined],
    );
  });
  for (const [name, fixture] of Object.entries<Fixture>({
    'no signature of ours': { claims: null },
    'claims of another shape': { claims: own({ jti: 'x' }) },
    'the end of the token': { claims: own({ exp: now / 1000 }) },
    'no such agent': { status: undefined },
    revocation: { status: 'revoked' },
    'a suspended agent': { status: statusWith({ agentStatus: 'suspended' }) },
    'a suspension at the time of issue': { status: statusWith({ tokensEndedAt: isoAt(issuedAt) }) },
    'a revoked credential': { status: statusWith({ credential: { revoked: true, digest: '' } }) },
    'a later epoch of the agent': { status: statusWith({ epoch: 11 }) },
    'a later epoch of the organization': { status: statusWith({ organizationEpoch: 21 }) },
  })) {
    it(`is refused: ${name}`, async () =>
      assert.equal(await createFixture(fixture).verify('text'), undefined));
  }
  for (const [name, fixture] of Object.entries<Fixture>({
    'a suspension before the token was issued': {
      status: statusWith({ tokensEndedAt: isoAt(issuedAt - 1) }),
    },
    'an active credential': { status: statusWith({ credential: { revoked: false, digest: '' } }) },
    'no epoch, from an earlier version': { claims: own({ epoch: undefined }) },
    'a later epoch while its organization is suspended': {
      status: statusWith({ epoch: 11, organizationStatus: 'suspended' }),
    },
  })) {
    it(`is valid: ${name}`, async () => assert.ok(await createFixture(fixture).verify('text')));
  }
  it('is for its own audience', async () => {
    const { verify } = createFixture();
    assert.equal(await verify('text', api), undefined);
    assert.ok(await verify('text', issuer));
  });
});

describe('a delegated token', () => {
  const fixture = (changes: object = {}, status: Partial<TokenStatus> = {}) =>
    createFixture({ claims: delegated(changes), status: statusWith({ chain: chainWith(), ...status }) });

  it('carries the scopes of its subject, and grants those that its holder has too', async () => {
    const subject = cachedAgent({ allowedScopes: ['agents:write', 'audit:read', 'admin:orgs'] });
    const scope = 'agents:read agents:write audit:read admin:orgs';
    const { verify, authenticate, queries } = fixture(
      { scope },
      { chain: chainWith([subject, cachedAgent()]) },
    );
    const verified = await verify('text');
    assert.deepEqual(verified?.scopes, ['agents:write', 'audit:read']);
    assert.equal(verified?.delegation?.subjectId, subjectId);
    assert.deepEqual(queries[0]?.otherAgentIds, [subjectId, middleId]);
    const identity = await authenticate('text');
    assert.deepEqual(identity?.grantableScopes, new Set(['agents:write']));
    assert.equal(identity?.delegation?.subjectId, subjectId);
  });
  it('of a workload grants nothing', async () => {
    const { authenticate } = fixture({ trust_policy_id: uuid(8) });
    const identity = await authenticate('text');
    assert.deepEqual([identity?.scopes, identity?.grantableScopes], [new Set(['agents:read']), new Set()]);
  });
  const link = { revoked: false, expiresAt: later };
  for (const [name, expected, status] of [
    ['runs', undefined, {}],
    [
      'has a revoked link',
      'DELEGATION_REVOKED',
      { chain: chainWith(undefined, [{ ...link, revoked: true }, link]) },
    ],
    [
      'has an expired link',
      'DELEGATION_EXPIRED',
      { chain: chainWith(undefined, [link, { ...link, expiresAt: isoAt(now) }]) },
    ],
    [
      'has a suspended agent',
      'DELEGATION_REVOKED',
      { chain: chainWith([cachedAgent(), cachedAgent({ agentStatus: 'suspended' })]) },
    ],
    [
      'has an agent that was suspended since',
      'DELEGATION_REVOKED',
      { chain: chainWith([cachedAgent({ tokensEndedAt: isoAt(now) }), cachedAgent()]) },
    ],
    ['has a suspended holder', 'DELEGATION_REVOKED', { agentStatus: 'suspended' }],
    [
      'has a revoked and an expired link',
      'DELEGATION_REVOKED',
      {
        chain: chainWith(undefined, [
          { ...link, revoked: true },
          { ...link, expiresAt: isoAt(now) },
        ]),
      },
    ],
  ] as const) {
    it(`${expected ?? 'is valid'} when its chain ${name}`, async () => {
      const { authenticate, verify } = fixture({}, status);
      assert.equal((await verify('text'))?.ended, expected);
      const identity = await authenticate('text');
      assert.ok(identity);
      assert.equal(identity.ended, expected);
    });
  }
  it('is refused when it has expired and its chain runs; an ended chain is named', async () => {
    const claims = { exp: now / 1000 };
    assert.equal(await fixture(claims).verify('text'), undefined);
    const chain = chainWith(undefined, [{ revoked: true, expiresAt: later }, link]);
    assert.equal((await fixture(claims, { chain }).verify('text'))?.ended, 'DELEGATION_REVOKED');
  });
  it('is refused with a later epoch of another agent of the chain', async () => {
    const chain = chainWith([cachedAgent({ epoch: 1 }), cachedAgent()]);
    assert.equal(await fixture({}, { chain }).verify('text'), undefined);
  });
  it('of a revoked credential is refused, unless its chain has ended', async () => {
    const credential = { revoked: true, digest: '' };
    assert.equal(await fixture({}, { credential }).verify('text'), undefined);
    const chain = chainWith(undefined, [{ revoked: true, expiresAt: later }]);
    assert.equal((await fixture({}, { credential, chain }).verify('text'))?.ended, 'DELEGATION_REVOKED');
  });
});

describe('a token for a resource', () => {
  const target = (changes: object = {}) => ({
    organizationId,
    deleted: false,
    held: { read: isoAt(issuedAt - 1), write: isoAt(issuedAt - 1) },
    epochs: {},
    ...changes,
  });
  const fixture = (changes: object = {}, more: Fixture = {}, claims: object = {}) =>
    createFixture({
      claims: own({ aud: api, scope: 'read write', ...claims }),
      status: statusWith({ target: target(changes) }),
      ...more,
    });

  it('is valid with all its scopes, whatever the agent may hold of our own API', async () => {
    const { scopesOf, queries } = fixture({}, {}, { scope: ' read  write' });
    assert.deepEqual(await scopesOf(), ['read', 'write']);
    assert.deepEqual([queries[0]?.audience, queries[0]?.audienceOwnerId], [api, undefined]);
  });
  for (const [name, changes, more] of [
    ['the resource was deleted', { deleted: true }, {}],
    ['a scope is no longer held', { held: { read: isoAt(issuedAt - 1) } }, {}],
    [
      'a scope was granted at the time of issue',
      { held: { read: isoAt(issuedAt - 1), write: isoAt(issuedAt) } },
      {},
    ],
    ['the epoch of a scope has grown', { epochs: { write: 1 } }, {}],
    [
      'its owner is another organization, which is not active',
      { organizationId: uuid(9) },
      { isOwnerActive: false },
    ],
  ] as const) {
    it(`is refused: ${name}`, async () =>
      assert.equal(await fixture(changes, more).verify('text'), undefined));
  }
  it('is valid: its owner is another organization, which is active', async () =>
    assert.ok(await fixture({ organizationId: uuid(9) }).verify('text')));
  it('is valid: its own organization is not asked for again', async () =>
    assert.ok(await fixture({}, { isOwnerActive: false }).verify('text')));
  it('belongs to the organization itself on a loopback address, where identifiers are verified', async () => {
    const aud = 'http://localhost:3000/';
    for (const [resourceIdentifiers, expected] of [
      ['verified', organizationId],
      ['unverified', undefined],
    ] as const) {
      const { verify, queries } = fixture({}, { resourceIdentifiers: resourceIdentifiers as never }, { aud });
      await verify('text');
      assert.equal(queries[0]?.audienceOwnerId, expected);
    }
  });
});

describe('the reason of a refusal', () => {
  const explained = async (fixture: Fixture) => createFixture(fixture).explain('text');
  it('is not ours', async () =>
    assert.deepEqual(await explained({ claims: null }), {
      agentId: uuid(0).replaceAll('4', '0').replaceAll('8', '0'),
      organizationId: uuid(0).replaceAll('4', '0').replaceAll('8', '0'),
      reason: 'not one of ours',
    }));
  it('is another audience', async () => {
    const { reason, description } = await explained({ claims: own({ aud: api }) });
    assert.equal(reason, 'for another audience');
    assert.equal(description, `The access token is for another audience: ${api}`);
  });
  it('is its end, without milliseconds', async () => {
    const { agentId: owner, reason, description } = await explained({ claims: own({ exp: now / 1000 - 1 }) });
    assert.deepEqual([owner, reason], [agentId, 'expired']);
    assert.equal(description, 'The access token expired at 2029-12-31T23:59:59Z.');
    const early = await explained({ claims: own({ exp: -5 }) });
    assert.equal(early.description, 'The access token expired at 1970-01-01T00:00:00Z.');
  });
  it('is read without another verification when the token was valid before', async () => {
    const { verify, explain, state, expectations } = createFixture();
    await verify('text');
    state.status = 'revoked';
    assert.equal((await explain('text')).description, 'The access token was revoked.');
    assert.equal(expectations.length, 1);
  });
  for (const [description, status] of [
    [undefined, undefined],
    [undefined, statusWith()],
    ['The access token was revoked.', 'revoked'],
    ['The agent of the access token is suspended.', statusWith({ agentStatus: 'suspended' })],
    [
      'The access token was issued before its agent was suspended. Get a new one.',
      statusWith({ tokensEndedAt: isoAt(issuedAt) }),
    ],
    [
      'The access token was issued before its agent or its organization was suspended. Get a new one.',
      statusWith({ organizationEpoch: 21, credential: { revoked: true, digest: '' } }),
    ],
    [
      'The credential that the access token was issued with was revoked. Get a new token with another credential.',
      statusWith({ credential: { revoked: true, digest: '' } }),
    ],
  ] as const) {
    it(`is ${description ?? 'not known'}`, async () => {
      const refusal = await explained({ status });
      assert.equal(refusal.reason, 'revoked, or of an agent that is not active');
      assert.equal(refusal.description, description);
      assert.equal('description' in refusal, description !== undefined);
    });
  }
});
