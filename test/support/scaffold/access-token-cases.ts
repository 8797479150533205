/**
 * The tokens that the verifiers of all scaffolds and SDKs must accept or refuse. `npm run token-cases` signs them and
 * writes scaffolds/shared/testdata/access-token-cases.json, which every generated project contains and its unit tests read. With
 * the further cases of the SDKs they are `tokens` of sdk/vectors.json.
 */

export interface Verified {
  readonly agentId: string;
  readonly subject: { readonly type: 'person' | 'agent'; readonly id: string };
  readonly actors: readonly string[];
  readonly chainId: string | null;
  readonly scopes: readonly string[];
  readonly authorizationDetails: readonly object[];
  readonly organizationId: string;
}

/** Each is also the `kid` of the published key of that kind. */
export type TokenKey = 'rsa' | 'ec' | 'ed25519';

export interface TokenCase {
  readonly name: string;
  readonly acceptAnyOrganization: boolean;
  /** Which subjects the verifier accepts. */
  readonly subjects: 'agents' | 'people' | 'any';
  readonly header: object;
  readonly payload: unknown;
  /** The kind of the key that signs; `header.kid` may name another. */
  readonly key: TokenKey;
  /**
   * `private`: the published key. `der`: the same, with an ECDSA signature in DER. `other`: a key that is not published. `public`:
   * HMAC keyed with the public key.
   */
  readonly signedWith: 'private' | 'der' | 'other' | 'public' | 'none';
  /** The time of the verification in Unix seconds; now when left out. Only the SDKs have cases with it. */
  readonly at?: number;
  /** The options of `verify`. Only the SDKs have cases with them. */
  readonly require?: {
    readonly scopes?: readonly string[];
    readonly maxDepth?: number;
    /** The type that the token is asked for after `verify`. */
    readonly detail?: string;
  };
}

export interface AcceptedCase extends TokenCase {
  readonly verified: Verified;
}

export interface RefusedCase extends TokenCase {
  /** Part of the message in all languages; empty where the language's JWT library words the refusal. */
  readonly reason: string;
  /** The OAuth error of the SDKs; `invalid_token` when left out. */
  readonly code?: 'insufficient_scope' | 'insufficient_authorization_details';
}

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export const issuer = 'https://id.example.com';
export const audience = 'https://agent.example.com';
export const organizationId = id(1);
const otherOrganizationId = id(2);
const subject = id(10);
const [leaf, middle] = [id(11), id(12)];
const chainId = id(20);
/** 2100-01-01. */
const distantFuture = 4_102_444_800;

type Changes = Record<string, unknown>;

const header = { alg: 'RS256', typ: 'at+jwt', kid: 'rsa' };
const ec = { header: { ...header, alg: 'ES256', kid: 'ec' }, key: 'ec' } as const;
const ed25519 = { header: { ...header, alg: 'EdDSA', kid: 'ed25519' }, key: 'ed25519' } as const;

const own = {
  iss: issuer,
  aud: audience,
  sub: subject,
  client_id: subject,
  scope: 'orders:read orders:write',
  organization_id: organizationId,
  iat: 1_700_000_000,
  exp: distantFuture,
  jti: id(30),
};

const person = id(40);
const agentProfile = { sub_profile: 'ai_agent' };

const delegated = { ...own, client_id: leaf, chain_id: chainId, act: { sub: leaf } };

/** `act` of a chain, the agent that acts now first. */
const actOf = ([sub, ...earlier]: readonly string[], profile: object = {}): object => ({
  sub,
  ...profile,
  ...(earlier.length > 0 && { act: actOf(earlier, profile) }),
});

const ofPerson = {
  ...delegated,
  sub: person,
  sub_profile: 'person',
  act: actOf([leaf], agentProfile),
};

const belowAgent = (act: unknown) => ({ ...ofPerson, act: { sub: leaf, ...agentProfile, act } });

const manyActors = (count: number) => [leaf, ...Array.from({ length: count - 1 }, (_, at) => id(100 + at))];

/** `act` below an agent, by an identity assertion. A subject that looks like an agent of ours is none. */
const asserted = (count: number): object => ({
  iss: 'https://login.example.org',
  sub: count === 1 ? id(12) : `tool-${count}`,
  sub_profile: 'ai_agent',
  ...(count > 1 && { act: asserted(count - 1) }),
});

const verified: Verified = {
  agentId: subject,
  subject: { type: 'agent', id: subject },
  actors: [subject],
  chainId: null,
  scopes: ['orders:read', 'orders:write'],
  authorizationDetails: [],
  organizationId,
};

const verifiedOfPerson: Partial<Verified> = { subject: { type: 'person', id: person } };
const verifiedDelegated = { ...verified, agentId: leaf, actors: [leaf], chainId };

const base = (name: string, payload: unknown): TokenCase => ({
  name,
  acceptAnyOrganization: false,
  subjects: 'agents',
  header,
  payload,
  key: 'rsa',
  signedWith: 'private',
});

const accept = (
  name: string,
  payload: object,
  expected: Partial<Verified> = {},
  more: Partial<TokenCase> = {},
): AcceptedCase => ({
  ...base(name, payload),
  ...more,
  verified: { ...('act' in payload ? verifiedDelegated : verified), ...expected },
});

const refuse = (
  name: string,
  reason: string,
  payload: unknown,
  more: Partial<RefusedCase> = {},
): RefusedCase => ({
  ...base(name, payload),
  ...more,
  reason,
});

const any = { acceptAnyOrganization: true };
/** With the shortest signatures: every project contains these tokens. */
const people = { ...ed25519, subjects: 'people' } as const;
const anySubject = { ...ed25519, subjects: 'any' } as const;

const details = [
  { type: 'payment', amount: 120, currency: 'EUR' },
  { type: 'refund', order: 'A-1', items: ['1', '2'] },
];
const ofAction = { ...ofPerson, authorization_details: details };

export const accepted: readonly AcceptedCase[] = [
  accept('own token', own),
  accept('ES256', own, {}, ec),
  accept('EdDSA', own, {}, ed25519),
  accept('delegated, ES256', delegated, {}, ec),
  accept('no scope', without(own, 'scope'), { scopes: [] }),
  accept('empty scope', { ...own, scope: '' }, { scopes: [] }),
  accept('media type in full', own, {}, { header: { ...header, typ: 'application/at+jwt' } }),
  accept('audience in a list', { ...own, aud: ['https://other.example.com', audience] }),
  accept('delegated', delegated),
  accept(
    'delegated twice',
    { ...delegated, act: actOf([leaf, middle]) },
    {
      actors: [leaf, middle],
    },
  ),
  accept('ten actors', { ...delegated, act: actOf(manyActors(10)) }, { actors: manyActors(10) }),
  accept('own organization, any accepted', own, {}, any),
  accept(
    'other organization, any accepted',
    { ...own, organization_id: otherOrganizationId },
    { organizationId: otherOrganizationId },
    any,
  ),
  accept('a person, where people are accepted', ofPerson, verifiedOfPerson, people),
  accept('an agent, where all are accepted', own, {}, anySubject),
  accept(
    'a person, passed on',
    { ...ofPerson, act: actOf([leaf, middle], agentProfile) },
    { ...verifiedOfPerson, actors: [leaf, middle] },
    anySubject,
  ),
  ...[1, 10].map((count) =>
    accept(
      `a person, ${count} below by another issuer`,
      belowAgent(asserted(count)),
      verifiedOfPerson,
      people,
    ),
  ),
  accept(
    'a person, passed on, an actor by another issuer below',
    { ...ofPerson, act: { sub: leaf, ...agentProfile, act: { sub: middle, act: asserted(1) } } },
    { ...verifiedOfPerson, actors: [leaf, middle] },
    people,
  ),
  accept('details of an action', ofAction, { ...verifiedOfPerson, authorizationDetails: details }, people),
  accept('an empty list of details', { ...ofPerson, authorization_details: [] }, verifiedOfPerson, people),
];

const organizations: readonly RefusedCase[] = [
  refuse('other organization', `organization ${otherOrganizationId}, not ${organizationId}`, {
    ...own,
    organization_id: otherOrganizationId,
  }),
  refuse('other organization, delegated', `organization ${otherOrganizationId}`, {
    ...delegated,
    organization_id: otherOrganizationId,
  }),
  refuse('no organization', 'organization_id must be a UUID', without(own, 'organization_id')),
  refuse(
    'no organization, any accepted',
    'organization_id must be a UUID',
    without(own, 'organization_id'),
    any,
  ),
  refuse(
    'organization is not a UUID, any accepted',
    'organization_id must be a UUID',
    { ...own, organization_id: 'acme' },
    any,
  ),
  ...Object.entries({
    null: null,
    'a number': 1,
    empty: '',
    'not a UUID': 'acme',
    'in a list': [organizationId],
    'with a newline': `${organizationId}\n`,
  }).map(([what, organization_id]) =>
    refuse(`organization is ${what}`, 'organization_id must be a UUID', { ...own, organization_id }),
  ),
];

const refusedDelegated = (name: string, reason: string, changes: Changes) =>
  refuse(name, reason, { ...delegated, ...changes });

const delegations: readonly RefusedCase[] = [
  refusedDelegated('act is null', 'act must name an agent in sub', { act: null }),
  refusedDelegated('act is text', 'act must name an agent in sub', { act: leaf }),
  refusedDelegated('act is a list', 'act must name an agent in sub', { act: [{ sub: leaf }] }),
  refusedDelegated('act without sub', 'act must name an agent in sub', { act: {} }),
  refusedDelegated('act.sub is a number', 'act must name an agent in sub', { act: { sub: 11 } }),
  refusedDelegated('act.sub is not a UUID', 'act must name an agent in sub', { act: { sub: 'leaf' } }),
  refusedDelegated('act within act is null', 'act must name an agent in sub', {
    act: { sub: leaf, act: null },
  }),
  refusedDelegated('act within act without sub', 'act must name an agent in sub', {
    act: { sub: leaf, act: {} },
  }),
  refusedDelegated('eleven actors', 'act names more than 10 agents', { act: actOf(manyActors(11)) }),
  refusedDelegated('act names another agent', 'act names another agent than client_id', {
    act: { sub: middle },
  }),
  refuse('act without chain_id', 'chain_id must be a UUID', without(delegated, 'chain_id')),
  refusedDelegated('chain_id is not a UUID', 'chain_id must be a UUID', { chain_id: 'chain' }),
  refuse('chain_id without act', 'chain_id without act', { ...own, chain_id: chainId }),
  refuse('other subject without act', 'act is missing', { ...own, client_id: leaf }),
];

const wrongSubject: Partial<RefusedCase> = { code: 'insufficient_scope' };

const refusedOfPerson = (name: string, reason: string, changes: Changes) =>
  refuse(name, reason, { ...ofPerson, ...changes }, anySubject);

const subjects: readonly RefusedCase[] = [
  refuse('a person, where only agents are accepted', 'only agents are accepted', ofPerson, {
    ...ed25519,
    ...wrongSubject,
  }),
  refuse('an agent, where only people are accepted', 'only people are accepted', own, {
    ...people,
    ...wrongSubject,
  }),
  refuse(
    'a person without act',
    'sub is a person, but act is missing',
    { ...own, sub: person, sub_profile: 'person', client_id: leaf },
    anySubject,
  ),
  refusedOfPerson('act is a person', 'act must name an agent in sub', {
    act: { sub: leaf, sub_profile: 'person' },
  }),
  refusedOfPerson('the person is an actor, too', 'sub is a person, but act names it as an agent', {
    act: actOf([leaf, person], agentProfile),
  }),
  refusedOfPerson('sub_profile is null', 'sub_profile must be person', { sub_profile: null }),
  refusedOfPerson('sub_profile is unknown', 'sub_profile must be person', { sub_profile: 'robot' }),
];

const assertedReason = 'act of another issuer must name an actor in iss and sub';

const malformedActors = (acts: Readonly<Record<string, unknown>>): readonly RefusedCase[] =>
  Object.entries(acts).map(([what, act]) =>
    refuse(`an actor by another issuer ${what}`, assertedReason, belowAgent(act), anySubject),
  );

const assertedActors: readonly RefusedCase[] = [
  refusedOfPerson('the actor is of another issuer', 'act must name an agent in sub', {
    act: { iss: issuer, sub: leaf, ...agentProfile },
  }),
  refuse(
    'eleven actors by another issuer',
    'act names more than 10 actors of other issuers',
    belowAgent(asserted(11)),
    anySubject,
  ),
  ...malformedActors({
    'without sub': { iss: issuer },
    'above one of ours': { iss: issuer, sub: 'tool', act: { sub: middle } },
  }),
];

const refusedDetails = (name: string, authorization_details: unknown) =>
  refusedOfPerson(name, 'authorization_details must be a list of objects with a type', {
    authorization_details,
  });

const actions: readonly RefusedCase[] = [
  refusedDetails('details are null', null),
  refusedDetails('details are no list', details[0]),
  refusedDetails('a detail is text', [...details, 'payment']),
  refusedDetails('a detail without type', [...details, { amount: 120 }]),
  refusedDetails('a type that is a number', [{ type: 1 }]),
];

const subjectsOfSdks: readonly RefusedCase[] = [
  refuse(
    'a person, passed on, where only agents are accepted',
    'only agents are accepted',
    { ...ofPerson, act: actOf([leaf, middle], agentProfile) },
    wrongSubject,
  ),
  refuse('delegated by an agent, where only people are accepted', 'only people are accepted', delegated, {
    ...people,
    ...wrongSubject,
  }),
  refuse(
    'a person without act, as its own client',
    'sub is a person, but act is missing',
    { ...own, sub: person, sub_profile: 'person', client_id: person },
    anySubject,
  ),
  refuse('a person without chain_id', 'chain_id must be a UUID', without(ofPerson, 'chain_id'), anySubject),
  refusedOfPerson('a person that is not a UUID', 'sub must be a UUID', { sub: 'ada' }),
  refusedOfPerson('a person, act names another agent', 'act names another agent than client_id', {
    act: actOf([middle], agentProfile),
  }),
  refusedOfPerson('a person, act.sub is a number', 'act must name an agent in sub', { act: { sub: 11 } }),
  refusedOfPerson('a person, eleven actors', 'act names more than 10 agents', {
    act: actOf(manyActors(11), agentProfile),
  }),
  refusedOfPerson('an earlier actor is a person', 'act must name an agent in sub', {
    act: { sub: leaf, ...agentProfile, act: { sub: middle, sub_profile: 'person' } },
  }),
  ...Object.entries({ empty: '', 'in a list': ['person'], true: true }).map(([what, sub_profile]) =>
    refusedOfPerson(`sub_profile is ${what}`, 'sub_profile must be person', { sub_profile }),
  ),
  refuse(
    'sub_profile of an agent that acts for itself',
    'sub_profile must be person',
    { ...own, sub_profile: 'robot' },
    anySubject,
  ),
];

const claims: readonly RefusedCase[] = [
  refuse('other issuer', '', { ...own, iss: 'https://elsewhere.example.com' }),
  refuse('no issuer', '', without(own, 'iss')),
  refuse('other audience', '', { ...own, aud: issuer }),
  refuse('other audiences', '', { ...own, aud: [issuer, 'https://other.example.com'] }),
  refuse('no audience', '', without(own, 'aud')),
  refuse('empty list of audiences', '', { ...own, aud: [] }),
  refuse('expired', '', { ...own, exp: 1_700_003_600 }),
  refuse('no expiry', '', without(own, 'exp')),
  refuse('not yet valid', '', { ...own, nbf: distantFuture - 1 }),
  refuse('no subject', 'sub must be a UUID', without(own, 'sub')),
  refuse('subject is not a UUID', 'sub must be a UUID', { ...own, sub: 'a' }),
  refuse('no client_id', 'client_id must be a UUID', without(own, 'client_id')),
  refuse('client_id is empty', 'client_id must be a UUID', { ...own, client_id: '' }),
  refuse('client_id is a number', 'client_id must be a UUID', { ...own, client_id: 10 }),
  refuse('scope is null', 'scope must be a string', { ...own, scope: null }),
  refuse('scope is a list', 'scope must be a string', { ...own, scope: ['orders:read'] }),
  refuse('payload is a list', '', [own]),
];

const signatures: readonly RefusedCase[] = [
  refuse('other type of token', '', own, { header: { ...header, typ: 'JWT' } }),
  refuse('delegation token', '', own, { header: { ...header, typ: 'delegation+jwt' } }),
  refuse('no type', '', own, { header: without(header, 'typ') }),
  refuse('unknown critical header', '', own, { header: { ...header, crit: ['x'], x: 1 } }),
  refuse('other key', '', own, { signedWith: 'other' }),
  refuse('unknown key id', '', own, { header: { ...header, kid: 'unknown' } }),
  refuse('other algorithm', '', own, { header: { ...header, alg: 'RS512' } }),
  refuse('HMAC with the public key', '', own, {
    header: { ...header, alg: 'HS256' },
    signedWith: 'public',
  }),
  refuse('no signature', '', own, { header: { ...header, alg: 'none' }, signedWith: 'none' }),
  refuse('signature removed', '', own, { signedWith: 'none' }),
];

/** A key is used with its own algorithm only. */
const algorithms: readonly RefusedCase[] = [
  ...[ec, ed25519].flatMap((kind) => [
    refuse(`other key, ${kind.header.alg}`, '', own, { ...kind, signedWith: 'other' }),
    refuse(`signature removed, ${kind.header.alg}`, '', own, { ...kind, signedWith: 'none' }),
    refuse(`HMAC with the public key of ${kind.header.alg}`, '', own, {
      key: kind.key,
      header: { ...kind.header, alg: 'HS256' },
      signedWith: 'public',
    }),
    refuse(`HMAC declared as ${kind.header.alg}`, '', own, { ...kind, signedWith: 'public' }),
    refuse(`${kind.header.alg} under the id of the RSA key`, '', own, {
      key: kind.key,
      header: { ...kind.header, kid: 'rsa' },
    }),
    refuse(`RS256 under the id of the key of ${kind.header.alg}`, '', own, {
      header: { ...header, kid: kind.header.kid },
    }),
    refuse(`the key of ${kind.header.alg}, declared as RS256`, '', own, {
      key: kind.key,
      header: { ...kind.header, alg: 'RS256' },
    }),
  ]),
  refuse('the key of ES256, declared as EdDSA', '', own, {
    key: 'ec',
    header: { ...ec.header, alg: 'EdDSA' },
  }),
  refuse('the key of EdDSA, declared as ES256', '', own, {
    key: 'ed25519',
    header: { ...ed25519.header, alg: 'ES256' },
  }),
  refuse('ES256 with a signature in DER', '', own, { ...ec, signedWith: 'der' }),
  refuse('expired, ES256', '', { ...own, exp: 1_700_003_600 }, ec),
  refuse('expired, EdDSA', '', { ...own, exp: 1_700_003_600 }, ed25519),
];

export const refused: readonly RefusedCase[] = [
  ...organizations,
  ...delegations,
  ...subjects,
  ...assertedActors,
  ...actions,
  ...claims,
  ...signatures,
  ...algorithms,
];

const at = 1_800_000_000;
const twice = { ...delegated, act: actOf([leaf, middle]) };
const verifiedTwice = { actors: [leaf, middle] };

/** Cases of the SDKs: clock tolerance (5 seconds), required scopes, depth of a delegation. */
export const acceptedBySdks: readonly AcceptedCase[] = [
  accept('expired within the clock tolerance', { ...own, exp: at - 3 }, {}, { at }),
  accept('valid soon, within the clock tolerance', { ...own, nbf: at + 3 }, {}, { at }),
  accept('has the required scope', own, {}, { require: { scopes: ['orders:read'] } }),
  accept('has all required scopes', own, {}, { require: { scopes: ['orders:write', 'orders:read'] } }),
  accept('no scope is required', without(own, 'scope'), { scopes: [] }, { require: { scopes: [] } }),
  accept('not delegated, and it may not be', own, {}, { require: { maxDepth: 0 } }),
  accept('delegated once, as it may be', delegated, {}, { require: { maxDepth: 1 } }),
  accept('a person, where all are accepted', ofPerson, verifiedOfPerson, anySubject),
  accept('delegated, where all are accepted', delegated, {}, anySubject),
  accept(
    'a person, ten actors without profile',
    { ...ofPerson, act: actOf(manyActors(10)) },
    { ...verifiedOfPerson, actors: manyActors(10) },
    people,
  ),
  accept(
    'the person is an actor of another issuer',
    belowAgent({ iss: 'https://login.example.org', sub: person }),
    verifiedOfPerson,
    people,
  ),
  accept(
    'a person, delegated once, actors by another issuer do not count',
    belowAgent(asserted(10)),
    verifiedOfPerson,
    {
      ...people,
      require: { maxDepth: 1 },
    },
  ),
  accept('a person, delegated once, as it may be', ofPerson, verifiedOfPerson, {
    ...people,
    require: { maxDepth: 1 },
  }),
  accept('delegated twice, as it may be', twice, verifiedTwice, { require: { maxDepth: 2 } }),
  accept(
    'has a detail of the type',
    ofAction,
    { ...verifiedOfPerson, authorizationDetails: details },
    { ...people, require: { detail: 'refund' } },
  ),
  accept('scope with several spaces', { ...own, scope: ' orders:read  orders:write ' }),
];

const insufficient = (require: TokenCase['require']): Partial<RefusedCase> => ({
  require: require ?? {},
  code: 'insufficient_scope',
});

export const refusedBySdks: readonly RefusedCase[] = [
  ...subjectsOfSdks,
  ...malformedActors({
    'without text in sub': { iss: issuer, sub: 11 },
    'with an empty sub': { iss: issuer, sub: '' },
    'without text in iss': { iss: null, sub: middle },
    'with an empty iss': { iss: '', sub: middle },
    'above null': { iss: issuer, sub: 'tool', act: null },
    'above text': { iss: issuer, sub: 'tool', act: 'tool' },
  }),
  refuse('expired beyond the clock tolerance', '', { ...own, exp: at - 60 }, { at }),
  refuse('valid too late for the clock tolerance', '', { ...own, nbf: at + 60 }, { at }),
  refuse('expiry is text', '', { ...own, exp: String(distantFuture) }),
  refuse('lacks the scope', 'orders:delete', own, insufficient({ scopes: ['orders:delete'] })),
  refuse(
    'lacks one of the scopes',
    'orders:delete',
    own,
    insufficient({ scopes: ['orders:read', 'orders:delete'] }),
  ),
  refuse(
    'has only the beginning of the scope',
    'orders:read:all',
    own,
    insufficient({ scopes: ['orders:read:all'] }),
  ),
  refuse('scope in capitals', 'ORDERS:READ', own, insufficient({ scopes: ['ORDERS:READ'] })),
  refuse(
    'no scope, and one is required',
    'orders:read',
    without(own, 'scope'),
    insufficient({ scopes: ['orders:read'] }),
  ),
  refuse('delegated, but it may not be', 'delegated', delegated, insufficient({ maxDepth: 0 })),
  refuse('delegated twice, once at most', 'delegated', twice, insufficient({ maxDepth: 1 })),
  refuse('a person, but it may not be delegated', 'delegated', ofPerson, {
    ...people,
    ...insufficient({ maxDepth: 0 }),
  }),
  refuse('a person, lacks the scope', 'orders:delete', ofPerson, {
    ...people,
    ...insufficient({ scopes: ['orders:delete'] }),
  }),
  ...['payments', 'Payment', 'pay'].map((detail) =>
    refuse(`has no detail of the type ${detail}`, `of the type ${detail}`, ofAction, {
      ...people,
      require: { detail },
      code: 'insufficient_authorization_details',
    }),
  ),
  refuse('has no details', 'of the type payment', own, {
    require: { detail: 'payment' },
    code: 'insufficient_authorization_details',
  }),
  refusedDetails('a detail is a list', [[{ type: 'payment' }]]),
  refusedDetails('a detail is null', [null]),
  refuse('other organization, before scopes count', `organization ${otherOrganizationId}`, {
    ...own,
    organization_id: otherOrganizationId,
    scope: '',
  }),
  refuse('no key id', '', own, { header: without(header, 'kid') }),
  refuse('key id is a number', '', own, { header: { ...header, kid: 1 } }),
  refuse('the key is in the header', '', own, {
    header: { ...without(header, 'kid'), jwk: { kty: 'oct', k: 'AAAA' } },
    signedWith: 'other',
  }),
];

function without(claims: object, name: string): object {
  return Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
}
