import type { Static } from 'typebox';
import { agentTypes, serviceFragments } from '../../contract/identity.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import { httpsUrl, redirectUri } from '../../contract/patterns.ts';
import { organizationScopes, type Scope, scopes } from '../../contract/scopes.ts';
import {
  LabelFilters,
  Labels,
  literals,
  Nullable,
  PageOf,
  pageQuery,
  plainName,
  Timestamp,
  timeRangeQuery,
  Uuid,
  UuidList,
  visibleText,
} from '../../contract/shapes.ts';
import { maxRedirectUriLength } from '../../kernel/redirect-uri.ts';

export const deploymentEnvs = ['development', 'staging', 'production'] as const;
export const agentStatuses = ['active', 'suspended', 'decommissioned'] as const;
export const agentOrders = ['createdAt', 'name', 'email'] as const;

const Email = Type.String({ format: 'email', maxLength: 254, description: 'an e-mail address' });
const Version = Type.String({
  maxLength: 64,
  pattern:
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-(0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)(\\.(0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$',
  description: 'a semantic version such as 1.4.0',
});
const Capability = Type.String({
  maxLength: 128,
  pattern: '^[A-Za-z0-9_.-]+:[A-Za-z0-9_.*-]+$',
  description: 'of the form resource:action, such as resume:read',
});
const Capabilities = Type.Array(Capability, { minItems: 1, maxItems: 100, uniqueItems: true });
const Owner = Type.String({
  ...visibleText,
  minLength: 1,
  maxLength: 128,
  description: 'the team or person who is responsible for the agent',
});
const displayNameRule =
  'a name for people, who see it beside the e-mail address: the address identifies the agent, the name proves nothing';
const DisplayName = Nullable(Type.String(plainName(limits.displayNameLength, `; ${displayNameRule}`)));
const labels = {
  description:
    'keys and values by which you group and find agents, such as team or cost center. They give no rights, and no token has them',
};
const AgentLabels = Type.Unsafe<Static<typeof Labels>>({ ...Labels, ...labels });
const Scopes = Type.Array(literals(scopes), { maxItems: scopes.length, uniqueItems: true });

const rateLimit = {
  description:
    'requests of this agent in each 60-second window; null: RATE_LIMIT_PER_MINUTE of the instance. Only an operator sets it',
};
const RateLimit = Nullable(Type.Integer({ minimum: 1, maximum: limits.maxRequestsPerMinute, ...rateLimit }));

const redirectUris = {
  description:
    'the addresses that may receive authorization codes of the agent as an OAuth client: https, or http with the host localhost, 127.0.0.1 or [::1], whose port is ignored',
};
const RedirectUris = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: maxRedirectUriLength,
    documentedPattern: redirectUri,
    description: 'an absolute https:// URL in ASCII without credentials or fragment, or http:// to localhost',
  }),
  { maxItems: limits.redirectUrisPerAgent, uniqueItems: true, ...redirectUris },
);
const publicClient = {
  description:
    'an OAuth client that cannot keep a secret, such as an application on a computer: it has no credentials, keys or trust policies, and only tokens that a person has consented to',
};
const PublicClient = Type.Boolean(publicClient);

const dpopBound = {
  description:
    'whether the agent gets only tokens that are bound to a key: a token request without a DPoP proof (RFC 9449) is refused. Tokens that it has stay valid',
};

const notificationUri = {
  description:
    'where the agent learns that a request for approval was decided (CIBA, ping mode); null: it asks for the answer itself',
  examples: ['https://agent.example.com/notifications'],
};
const NotificationUri = Nullable(
  Type.String({
    minLength: 1,
    maxLength: 2_048,
    documentedPattern: httpsUrl,
    description: 'an https:// URL in ASCII, without credentials or fragment',
    examples: notificationUri.examples,
  }),
);

const agentFields = {
  agentId: Uuid,
  organizationId: Uuid,
  email: Type.String(),
  displayName: Nullable(Type.String({ description: displayNameRule })),
  agentType: literals(agentTypes),
  version: Type.String(),
  capabilities: Type.Array(Type.String()),
  owner: Type.String(),
  deploymentEnv: literals(deploymentEnvs),
  labels: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: Type.String(),
    ...labels,
  }),
  status: literals(agentStatuses),
  allowedScopes: Type.Array(Type.String()),
  rateLimitPerMinute: Nullable(Type.Integer(rateLimit)),
  redirectUris: Type.Array(Type.String(), {
    ...redirectUris,
    examples: [['https://app.example.com/callback']],
  }),
  publicClient: Type.Boolean({ ...publicClient, examples: [false] }),
  clientUri: Nullable(
    Type.String({
      description:
        'the address of the metadata document by which the client came; null for a registered agent',
      examples: ['https://app.example.com/client.json'],
    }),
  ),
  notificationUri: Nullable(Type.String(notificationUri)),
  dpopBoundAccessTokens: Type.Boolean({ ...dpopBound, examples: [false] }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

export const Agent = Type.Object(agentFields, { title: 'Agent' });
export type Agent = Static<typeof Agent>;

/** With `include=activity`. */
const activity = {
  lastTokenDate: Type.Optional(
    Nullable(
      Type.String({
        format: 'date',
        description: `the day (UTC) of the newest token that was issued to the agent; null: none in the last ${limits.usageRetentionDays} days. A token of the last minute may be missing`,
        examples: ['2030-01-31'],
      }),
    ),
  ),
  secretExpiresAt: Type.Optional(
    Nullable(
      Type.Unsafe<string>({
        ...Timestamp,
        description:
          'when the next of its client secrets expires; a past time: all of them have expired; null: none of them expires, or it has none',
      }),
    ),
  ),
  grantedApis: Type.Optional(
    Type.Integer({ description: 'how many registered APIs the agent has a grant for', examples: [2] }),
  ),
};
export type AgentActivity = Static<ReturnType<typeof Type.Object<typeof activity>>>;

export const ListedAgent = Type.Object({ ...agentFields, ...activity }, { title: 'ListedAgent' });
export type ListedAgent = Static<typeof ListedAgent>;

export const AgentPage = PageOf(ListedAgent, 'AgentPage');

export const NewAgent = Type.Object(
  {
    email: Email,
    agentType: literals(agentTypes),
    version: Version,
    capabilities: Capabilities,
    owner: Owner,
    deploymentEnv: literals(deploymentEnvs),
    displayName: Type.Optional(DisplayName),
    labels: Type.Optional(AgentLabels),
    organization_id: Type.Optional(Uuid),
    allowedScopes: Type.Optional(
      Type.Unsafe<Scope[]>({
        ...Scopes,
        description: `the scopes of this service's own API that the agent may hold. Send [] for an agent that calls only your own APIs. Without the field: those of DEFAULT_AGENT_SCOPES (${organizationScopes.join(', ')}, unless the instance sets others) that your token holds`,
      }),
    ),
    rateLimitPerMinute: Type.Optional(RateLimit),
    redirectUris: Type.Optional(RedirectUris),
    publicClient: Type.Optional(PublicClient),
    notificationUri: Type.Optional(NotificationUri),
    dpopBoundAccessTokens: Type.Optional(Type.Boolean(dpopBound)),
  },
  { title: 'NewAgent', additionalProperties: false },
);
export type NewAgent = Static<typeof NewAgent>;

export const AgentChange = Type.Object(
  {
    agentType: Type.Optional(literals(agentTypes)),
    version: Type.Optional(Version),
    capabilities: Type.Optional(Capabilities),
    // Of all fields the one that gives the agent nothing: examples are pasted.
    owner: Type.Optional(Type.Unsafe<Static<typeof Owner>>({ ...Owner, examples: ['talent-team'] })),
    deploymentEnv: Type.Optional(literals(deploymentEnvs)),
    displayName: Type.Optional(DisplayName),
    labels: Type.Optional(
      Type.Unsafe<Static<typeof Labels>>({
        ...AgentLabels,
        description: `${labels.description}. Replaces all labels`,
      }),
    ),
    status: Type.Optional(literals(agentStatuses)),
    allowedScopes: Type.Optional(Scopes),
    rateLimitPerMinute: Type.Optional(RateLimit),
    redirectUris: Type.Optional(RedirectUris),
    publicClient: Type.Optional(PublicClient),
    notificationUri: Type.Optional(NotificationUri),
    dpopBoundAccessTokens: Type.Optional(Type.Boolean(dpopBound)),
  },
  { title: 'AgentChange', additionalProperties: false },
);
export type AgentChange = Static<typeof AgentChange>;

export const immutableFields = ['agentId', 'email', 'clientUri', 'createdAt'] as const;

/** Importing the key refuses other characters, and a length that its type does not have. */
const base64url = (maxLength: number) => Type.String({ maxLength, documentedPattern: '^[A-Za-z0-9_-]+$' });

/** A public key (RFC 7517). Importing the key checks the members that its type needs. */
export const PublicJwk = Type.Object(
  {
    kty: literals(['RSA', 'EC', 'OKP']),
    kid: Type.Optional(
      Type.String({
        pattern: '^[\\w.~:/+=-]{1,128}$',
        description: `1 to 128 letters, digits or . _ ~ : / + = -, but none of ${serviceFragments.join(', ')}`,
      }),
    ),
    use: Type.Optional(literals(['sig'])),
    alg: Type.Optional(Type.String({ maxLength: 16 })),
    key_ops: Type.Optional(Type.Array(literals(['verify']), { maxItems: 1 })),
    ext: Type.Optional(Type.Boolean({ description: 'what WebCrypto adds to a key it exports; not kept' })),
    crv: Type.Optional(literals(['P-256', 'P-384', 'Ed25519'])),
    x: Type.Optional(base64url(128)),
    y: Type.Optional(base64url(128)),
    n: Type.Optional(base64url(1400)),
    e: Type.Optional(base64url(16)),
  },
  { title: 'PublicJwk', additionalProperties: false },
);
export type PublicJwk = Static<typeof PublicJwk>;

export const maxKeys = 10;

export const KeySet = Type.Object(
  { keys: Type.Array(PublicJwk, { maxItems: maxKeys }) },
  { title: 'KeySet', additionalProperties: false },
);
export type KeySet = Static<typeof KeySet>;

export const AgentParams = Type.Object({ agentId: Uuid });

export const AgentQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  ...timeRangeQuery('agents'),
  ids: Type.Optional(UuidList(pageSizes.standard.max)),
  organizationId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'agents of this organization; only operators see those of other organizations',
    }),
  ),
  owner: Type.Optional(Type.String({ maxLength: 128 })),
  agentType: Type.Optional(literals(agentTypes)),
  status: Type.Optional(literals(agentStatuses)),
  deploymentEnv: Type.Optional(literals(deploymentEnvs)),
  email: Type.Optional(
    Type.Unsafe<string>({ ...Email, description: 'an e-mail address, in upper or lower case' }),
  ),
  capability: Type.Optional(Capability),
  label: Type.Optional(LabelFilters),
  registration: Type.Optional(
    Type.Unsafe<'manual' | 'document'>({
      ...literals(['manual', 'document']),
      description:
        '`document`: agents of clients that came by a client ID metadata document; `manual`: all others',
    }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 254,
      description:
        'the beginning of the e-mail address, of the display name or of the owner, in upper or lower case',
    }),
  ),
  sort: Type.Optional(
    Type.Unsafe<(typeof agentOrders)[number]>({
      ...literals(agentOrders),
      description:
        'the order of the list; by default `createdAt`. `name`: by display name, and by e-mail address where there is none',
    }),
  ),
  order: Type.Optional(
    Type.Unsafe<'asc' | 'desc'>({
      ...literals(['asc', 'desc']),
      description: 'ascending or descending; by default newest first, and names and addresses from A to Z',
    }),
  ),
  include: Type.Optional(
    Type.Unsafe<'activity'>({
      ...literals(['activity']),
      description: '`activity` adds `lastTokenDate`, `secretExpiresAt` and `grantedApis` to each agent',
    }),
  ),
});
export type AgentQuery = Static<typeof AgentQuery>;
