/** The things that a command takes by name, in place of an id: where they are listed, and by which fields they are known. */

export interface Kind {
  readonly noun: string;
  /** The field of an entry that has its id. */
  readonly id: string;
  /** The fields that name it, and what people call them. The first field with a match decides. */
  readonly names: Readonly<Record<string, string>>;
  /** Those of them that are free text, which its owner may set to any name. */
  readonly free: readonly string[];
  /** The field with the id of its organization, where others may see it. A free name means a thing of the own organization only. */
  readonly home?: string;
  /** A name, for the help. */
  readonly example: string;
  /** The fields that tell two of the same name apart. */
  readonly shows: readonly string[];
  /** It is listed by organization. */
  readonly isOfOrganization?: boolean;
  /** Asked first, where the filter of `list` would be for one of several names: the answer has entries of this name only. */
  exactly?(text: string): List | undefined;
  /** `ids` are the other ids of the request. Filters only save time: the entries are compared again. */
  list(text: string, ids: Ids): List;
}

export interface List {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
}

export interface Ids {
  /** Of the path and the query, by name. */
  readonly known: Readonly<Record<string, string>>;
  /** For a kind that is listed by organization: that of the request, or else of the caller. */
  readonly organizationId: string;
}

/** The search of the server compares other letters by other rules: then all are listed. */
const search = (text: string): { readonly q?: string } => (/^[ -~]*$/.test(text) ? { q: text } : {});

const agent: Kind = {
  noun: 'agent',
  id: 'agentId',
  names: { email: 'e-mail address', displayName: 'display name' },
  free: ['displayName'],
  home: 'organizationId',
  example: 'screener-1@talent.example.com',
  shows: ['email', 'organizationId', 'status'],
  list: (text) => ({ path: '/agents', query: search(text) }),
};

export const organizationKind: Kind = {
  noun: 'organization',
  id: 'organizationId',
  names: { slug: 'slug', name: 'name' },
  free: ['name'],
  example: 'talent',
  shows: ['slug', 'name', 'status'],
  exactly: (text) =>
    /^[a-z0-9-]{1,63}$/.test(text) ? { path: '/organizations', query: { slug: text } } : undefined,
  list: () => ({ path: '/organizations' }),
};

const resource: Kind = {
  noun: 'API',
  id: 'resourceId',
  names: { identifier: 'identifier', name: 'name' },
  free: ['name'],
  home: 'organizationId',
  example: 'https://api.talent.example.com',
  shows: ['identifier', 'name', 'organizationId'],
  list: (text) => ({ path: '/resources', query: search(text) }),
};

/** Without the name of the API, which another organization has chosen. */
const receivedShare: Kind = {
  noun: 'received share',
  id: 'resourceId',
  names: { identifier: 'identifier' },
  free: [],
  example: 'https://api.talent.example.com',
  shows: ['identifier', 'name', 'ownerSlug', 'status'],
  list: () => ({ path: '/shares' }),
};

const person: Kind = {
  noun: 'person',
  id: 'personId',
  names: { email: 'e-mail address', name: 'name' },
  free: ['name'],
  example: 'ada@talent.example.com',
  shows: ['name', 'email', 'role', 'issuer', 'subject', 'status'],
  isOfOrganization: true,
  list: (_, { organizationId }) => ({ path: `/organizations/${organizationId}/people` }),
};

const connection: Kind = {
  noun: 'connection',
  id: 'connectionId',
  names: { name: 'name', issuer: 'issuer' },
  free: ['name'],
  example: 'Example Login',
  shows: ['name', 'issuer', 'clientId', 'status'],
  isOfOrganization: true,
  list: (_, { organizationId }) => ({ path: `/organizations/${organizationId}/connections` }),
};

const credential: Kind = {
  noun: 'active credential',
  id: 'credentialId',
  names: { name: 'name' },
  free: ['name'],
  example: 'ci',
  shows: ['name', 'createdAt', 'expiresAt'],
  list: (_, { known }) => ({ path: `/agents/${known.agentId}/credentials`, query: { status: 'active' } }),
};

const trustPolicy: Kind = {
  noun: 'trust policy',
  id: 'policyId',
  names: { name: 'name' },
  free: ['name'],
  home: 'organizationId',
  example: 'GitHub main',
  shows: ['name', 'agentId', 'provider', 'subject', 'status'],
  list: () => ({ path: '/oidc/trust-policies' }),
};

const webhook: Kind = {
  noun: 'webhook',
  id: 'id',
  names: { name: 'name', url: 'URL' },
  free: ['name'],
  home: 'organization_id',
  example: 'Orders',
  shows: ['name', 'url', 'organization_id'],
  list: () => ({ path: '/webhooks' }),
};

const partner: Kind = {
  noun: 'partner',
  id: 'id',
  names: { name: 'name', issuer: 'issuer' },
  free: ['name'],
  example: 'https://idp.example.com',
  shows: ['name', 'issuer'],
  list: () => ({ path: '/federation/partners' }),
};

const listing: Kind = {
  noun: 'listing',
  id: 'listingId',
  names: { title: 'title' },
  free: ['title'],
  example: 'Resume screener',
  shows: ['title', 'agentId', 'organizationSlug', 'status'],
  list: () => ({ path: '/marketplace/listings' }),
};

const publicListing: Kind = {
  ...listing,
  list: (text) => ({ path: '/marketplace/agents', query: search(text) }),
};

/** By the name of the parameter or field. */
const kinds: Readonly<Record<string, Kind>> = {
  agentId: agent,
  delegatorId: agent,
  delegateeId: agent,
  actorId: agent,
  orgId: organizationKind,
  organizationId: organizationKind,
  organization_id: organizationKind,
  resourceId: resource,
  personId: person,
  approvers: person,
  connectionId: connection,
  credentialId: credential,
  policyId: trustPolicy,
  listingId: listing,
};

/** Where the same name means another thing. */
const exceptions: readonly (readonly [path: RegExp, name: string, kind: Kind])[] = [
  [/^\/webhooks\//, 'id', webhook],
  [/^\/federation\/partners\//, 'id', partner],
  [/^\/shares\//, 'resourceId', receivedShare],
  [/^\/marketplace\/agents\//, 'listingId', publicListing],
  [/^\/agents$/, 'ids', agent],
];

/** `path` is that of the operation. */
export const kindOf = (path: string, name: string): Kind | undefined =>
  exceptions.find(([where, one]) => one === name && where.test(path))?.[2] ?? kinds[name];

export const agentKind = agent;

/** `its id, identifier or name` */
export const namesOf = ({ names }: Kind): string => {
  const words = ['id', ...Object.values(names)];
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
};
