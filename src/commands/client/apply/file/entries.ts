/** The entries of an identity file, as docs/reference/identity.schema.json describes them, and the same things as the API shows them. */

export interface OrganizationEntry {
  readonly slug: string;
  readonly name: string;
  readonly planTier?: 'free' | 'pro' | 'enterprise';
  readonly maxAgents?: number | null;
  readonly maxTokensPerMonth?: number | null;
  readonly status?: 'active' | 'suspended' | 'deleted';
}

export interface AgentEntry {
  readonly email: string;
  readonly organization?: string;
  readonly displayName?: string | null;
  readonly agentType: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly owner: string;
  readonly deploymentEnv: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly allowedScopes?: readonly string[];
  readonly rateLimitPerMinute?: number | null;
  readonly redirectUris?: readonly string[];
  readonly publicClient?: boolean;
  readonly dpopBoundAccessTokens?: boolean;
  readonly notificationUri?: string | null;
  readonly status?: 'active' | 'suspended' | 'decommissioned';
}

/** Where a secret is: the name of a variable, or the path of a file. Exactly one of them. */
export interface SecretSource {
  readonly env?: string;
  readonly file?: string;
}

export interface ConnectionEntry {
  readonly id?: string;
  readonly organization?: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: SecretSource;
  readonly scopes?: readonly string[];
  readonly conditions?: readonly object[];
  readonly idJag?: boolean;
  readonly status?: 'active' | 'disabled';
}

export interface ClientPolicyEntry {
  readonly organization?: string;
  readonly mode: string;
  readonly domains?: readonly string[];
}

export interface ApprovalPolicyEntry {
  readonly organization?: string;
  readonly maxAccessSeconds?: number;
  readonly selfApproval?: boolean;
  readonly requireTwo?: readonly string[];
}

export interface PersonEntry {
  readonly id?: string;
  readonly organization?: string;
  readonly email?: string;
  readonly connection?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly role?: 'admin' | 'viewer' | 'member';
  readonly agent?: string;
  readonly status?: 'active' | 'suspended' | 'removed';
}

interface NamedScope {
  readonly name: string;
  readonly description?: string | null;
}

export interface ShareEntry {
  readonly organization: string;
  readonly scopes: readonly string[];
}

export interface ResourceEntry {
  readonly identifier: string;
  readonly organization?: string;
  readonly name: string;
  readonly description?: string | null;
  readonly scopes: readonly (string | NamedScope)[];
  readonly tokenLifetimeSeconds?: number;
  readonly claims?: readonly string[];
  readonly peopleScopes?: readonly string[];
  /** Ids of people. */
  readonly approvers?: readonly string[];
  readonly authorizationDetailTypes?: readonly {
    readonly type: string;
    readonly description?: string | null;
    readonly schema: object;
  }[];
  readonly shares?: readonly ShareEntry[];
}

interface GrantEntry {
  readonly agent: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

export interface TrustPolicyEntry {
  readonly id?: string;
  readonly agent: string;
  readonly name: string;
  readonly provider: string;
  readonly issuer?: string;
  readonly jwksUri?: string | null;
  readonly audiences: readonly string[];
  readonly subject?: string | null;
  readonly conditions?: readonly object[];
  readonly scopes: readonly string[];
  readonly resources?: readonly { readonly identifier: string; readonly scopes: readonly string[] }[];
  readonly actsAsAdmin?: boolean;
  readonly maxTokenAgeSeconds?: number;
  readonly singleUse?: boolean;
  readonly status?: 'active' | 'disabled';
}

export interface WebhookEntry {
  readonly id?: string;
  readonly organization?: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly active?: boolean;
}

export interface Entries {
  readonly organizations: OrganizationEntry;
  readonly agents: AgentEntry;
  readonly connections: ConnectionEntry;
  readonly clientPolicies: ClientPolicyEntry;
  readonly approvalPolicies: ApprovalPolicyEntry;
  readonly people: PersonEntry;
  readonly resources: ResourceEntry;
  readonly grants: GrantEntry;
  readonly trustPolicies: TrustPolicyEntry;
  readonly webhooks: WebhookEntry;
}

export const entryKinds = [
  'organizations',
  'agents',
  'connections',
  'clientPolicies',
  'approvalPolicies',
  'people',
  'resources',
  'grants',
  'trustPolicies',
  'webhooks',
] as const satisfies readonly (keyof Entries)[];
export type EntryKind = (typeof entryKinds)[number];

export interface LiveOrganization {
  readonly organizationId: string;
  readonly name: string;
  readonly slug: string;
  readonly planTier: 'free' | 'pro' | 'enterprise';
  readonly maxAgents: number;
  readonly maxTokensPerMonth: number;
  readonly status: 'active' | 'suspended' | 'deleted';
}

export interface LiveAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly email: string;
  readonly status: string;
  readonly allowedScopes: readonly string[];
  /** Of a client that came by itself, with a metadata document: files do not manage it. Absent on servers of an earlier version. */
  readonly clientUri?: string | null;
}

export interface LiveConnection {
  readonly connectionId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
}

export interface LiveClientPolicy {
  readonly mode: string;
  readonly domains: readonly string[];
}

export interface LiveApprovalPolicy {
  readonly maxAccessSeconds: number;
  readonly selfApproval: boolean;
  readonly requireTwo: readonly string[];
}

export interface LivePerson {
  readonly personId: string;
  readonly organizationId: string;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly name: string;
  readonly role: 'admin' | 'viewer' | 'member';
  readonly agentId: string | null;
  readonly email: string | null;
  readonly connectionId: string | null;
  readonly status: 'active' | 'suspended';
}

export interface LiveResource {
  readonly resourceId: string;
  readonly organizationId: string;
  readonly identifier: string;
  readonly name: string;
  readonly scopes: readonly { readonly name: string; readonly description: string | null }[];
  /** Absent on servers of an earlier version. */
  readonly verification?: { readonly status: 'pending' | 'verified' };
}

export interface LiveShare {
  readonly resourceId: string;
  readonly organizationId: string;
  readonly scopes: readonly string[];
  /** Absent on servers of an earlier version. */
  readonly offeredScopes?: readonly string[];
}

export interface LiveGrant {
  readonly agentId: string;
  readonly resourceId: string;
  readonly identifier: string;
  readonly scopes: readonly string[];
}

export interface LiveTrustPolicy {
  readonly policyId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly name: string;
  readonly provider: string;
}

export interface LiveWebhook {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly url: string;
}

/** The fields that a file manages, besides those that identify the entry. */
export const managedFields = {
  organizations: ['name', 'planTier', 'maxAgents', 'maxTokensPerMonth', 'status'],
  agents: [
    'displayName',
    'agentType',
    'version',
    'capabilities',
    'owner',
    'deploymentEnv',
    'labels',
    'allowedScopes',
    'rateLimitPerMinute',
    'redirectUris',
    'publicClient',
    'dpopBoundAccessTokens',
    'notificationUri',
    'status',
  ],
  connections: ['name', 'clientId', 'scopes', 'conditions', 'idJag', 'status'],
  clientPolicies: ['mode', 'domains'],
  approvalPolicies: ['maxAccessSeconds', 'selfApproval', 'requireTwo'],
  resources: [
    'name',
    'description',
    'scopes',
    'tokenLifetimeSeconds',
    'claims',
    'peopleScopes',
    'approvers',
    'authorizationDetailTypes',
  ],
  trustPolicies: [
    'name',
    'issuer',
    'jwksUri',
    'audiences',
    'subject',
    'conditions',
    'scopes',
    'resources',
    'actsAsAdmin',
    'maxTokenAgeSeconds',
    'singleUse',
    'status',
  ],
  webhooks: ['name', 'url', 'events', 'active'],
} as const;

export const keyOfEmail = (email: string): string => email.toLowerCase();
