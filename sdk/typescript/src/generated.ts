/** Generated from the route table by `npm run openapi`; do not edit. */

export type A2aAgentCard = { name: string; description: string; supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[]; provider: { organization: string; url: string }; version: string; capabilities: { extensions: { uri: string; description: string; params: { did: string; identityProvider: string; organizationId: string; owner: string } }[] }; defaultInputModes: string[]; defaultOutputModes: string[]; skills: { id: string; name: string; description: string; tags: string[] }[]; signatures?: { protected: string; signature: string }[] | undefined };

export type AccessTokenResponse = { access_token: string; token_type: "Bearer" | "DPoP" | "N_A"; expires_in: number; scope: string; issued_token_type?: string | undefined; refresh_token?: string | undefined; authorization_details?: AuthorizationDetail[] | undefined };

export type AddedSignalSubject = { stream_id: string; subject: { format: string } & Record<string, unknown>; verified?: boolean | undefined };

export type Agent = { agentId: string; organizationId: string; email: string; displayName: string | null; agentType: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom"; version: string; capabilities: string[]; owner: string; deploymentEnv: "development" | "staging" | "production"; labels: Record<string, string>; status: "active" | "suspended" | "decommissioned"; allowedScopes: string[]; rateLimitPerMinute: number | null; redirectUris: string[]; publicClient: boolean; clientUri: string | null; notificationUri: string | null; dpopBoundAccessTokens: boolean; createdAt: string; updatedAt: string };

export type AgentAccess = { agentId: string; active: boolean; inactiveReason: string | null; role: ("admin" | "member") | null; own: string[]; grants: Grant[]; delegated: DelegatedAccess[]; trustPolicies: PolicyAccess[]; truncated: boolean };

export type AgentActivity = { tenantId: string; data: { dow: number; hour: number; count: number }[] };

export type AgentBadge = { "@context": string; id: string; type: "EnvelopedVerifiableCredential" };

export type AgentCard = { did: string; name: string; agentType: string; capabilities: string[]; owner: string; version: string; deploymentEnv: string; identityProvider: string; issuedAt: string };

export type AgentChange = { agentType?: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom" | undefined; version?: string | undefined; capabilities?: string[] | undefined; owner?: string | undefined; deploymentEnv?: "development" | "staging" | "production" | undefined; displayName?: string | null | undefined; labels?: Record<string, string> | undefined; status?: "active" | "suspended" | "decommissioned" | undefined; allowedScopes?: ("agents:read" | "agents:write" | "tokens:read" | "audit:read" | "webhooks:read" | "webhooks:write" | "resources:read" | "resources:write" | "admin:orgs")[] | undefined; rateLimitPerMinute?: number | null | undefined; redirectUris?: string[] | undefined; publicClient?: boolean | undefined; notificationUri?: string | null | undefined; dpopBoundAccessTokens?: boolean | undefined };

export type AgentPage = { data: ListedAgent[]; total: number; page: number; limit: number };

export type AgentUsage = { agentId: string; totals: { api_calls?: number | undefined; tokens_issued?: number | undefined; token_exchanges?: number | undefined; delegations_created?: number | undefined; webhook_deliveries?: number | undefined; introspections?: number | undefined } };

export type AgentUsagePage = { data: AgentUsage[]; total: number; page: number; limit: number };

export type Approval = { approvalId: string; organizationId: string; agentId: string; resource: { identifier: string; name: string }; scopes: string[]; authorizationDetails: AuthorizationDetail[] | null; bindingMessage: string | null; requestedFor: "person" | "approvers"; personId: string | null; accessExpiresIn: number; status: "pending" | "approved" | "denied" | "expired" | "canceled"; requiredApprovals: number; approvals: { personId: string; at: string }[]; decidedBy: string | null; decidedAt: string | null; chainId: string | null; createdAt: string; expiresAt: string };

export type ApprovalPage = { data: Approval[]; total: number; page: number; limit: number };

export type ApprovalPolicy = { maxAccessSeconds: number; selfApproval: boolean; requireTwo: string[] };

export type ApprovalPolicyChange = { maxAccessSeconds?: number | undefined; selfApproval?: boolean | undefined; requireTwo?: string[] | undefined };

export type ApprovalsByAgent = { tenantId: string; days: number; data: { agentId: string; pending: number; approved: number; denied: number; expired: number; canceled: number }[]; total: number; page: number; limit: number };

export type AuditAnchor = { number: number; time: string; signed: string };

export type AuditArchive = { date: string; events: number; bytes: number; sha256: string; chainHead: string; createdAt: string };

export type AuditArchivePage = { data: AuditArchive[]; total: number; page: number; limit: number };

export type AuditChain = { organizationId: string; size: number; startsAfter: number; anchor: AuditAnchor | null; inconsistentLinks: boolean; links: AuditLink[]; checkpoints: AuditChainCheckpoint[] };

export type AuditChainCheckpoint = { number: number; size: number; headHash: string; time: string; keyId: string; signed: string; inclusion: AuditCheckpointInclusion | null; previous: string | null; linkedOn: string };

export type AuditChainEvent = { canonical: string; appendedIn: string; seal: string; columns: string | null };

export type AuditCheckpoint = { number: number; size: number; headHash: string; time: string; keyId: string; signed: string; inclusion: AuditCheckpointInclusion | null };

export type AuditCheckpointInclusion = { checkpoint: string; treeHead: number; treeSize: number; leafIndex: number; proof: string[] };

export type AuditCheckpointPage = { data: AuditCheckpoint[]; total: number; page: number; limit: number };

export type AuditEvent = { eventId: string; agentId: string; action: string; outcome: "success" | "failure"; ipAddress: string; userAgent: string; metadata: Record<string, unknown>; timestamp: string };

export type AuditKey = { number: number; keyId: string; time: string; signed: string };

export type AuditKeyPage = { data: AuditKey[]; total: number; page: number; limit: number };

export type AuditLink = { sequence: number; eventId: string; time: string; eventHash: string; hash: string; event: AuditChainEvent | null };

export type AuditPage = { data: AuditEvent[]; total: number; page: number; limit: number };

export type AuditVerification = { verified: boolean; checkedCount: number; fromDate: string | null; toDate: string | null; witnessed: Witnessed | null };

export type AuditWitness = { name: string; verifierKey: string; checkpointSize: number | null; time: string | null; failing: string | null };

export type AuditWitnesses = { quorum: number | null; witnessed: Witnessed | null; witnesses: AuditWitness[]; logKey: string | null };

export type AuthorizationDetail = { type: string } & Record<string, unknown>;

export type AuthorizationDetailType = { type: string; description: string | null; schema: Record<string, unknown> };

export type BackchannelAnswer = { auth_req_id: string; approval_id: string; expires_in: number; interval: number };

export type BackchannelRequest = { scope?: string | undefined; resource?: string | undefined; login_hint?: string | undefined; binding_message?: string | undefined; authorization_details?: string | undefined; requested_expiry?: string | undefined; access_expires_in?: string | undefined; client_notification_token?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion_type?: string | undefined; client_assertion?: string | undefined };

export type BillingEventReceipt = { received: true; outcome: "applied" | "repeated" | "late" | "ignored" | "unknown" };

export type Checkout = { checkoutUrl: string; sessionId: string; expiresAt: string };

export type ClientPolicy = { mode: "any" | "domains" | "approval" | "off"; domains: string[] };

export type ClientPolicyChange = { mode: "any" | "domains" | "approval" | "off"; domains?: string[] | undefined };

export type ComplianceReport = { tenantId: string; generatedAt: string; agntcyConformance: boolean; agentCount: number; writingAgentCount: number; verifiedAgentCount: number; auditChainIntegrity: boolean; approvals: ReportedApprovals; from_cache: boolean };

export type Connection = { connectionId: string; organizationId: string; name: string; issuer: string; clientId: string; scopes: string[]; conditions: TrustCondition[]; status: "active" | "disabled"; idJag: boolean; createdAt: string; updatedAt: string };

export type ConnectionChange = { name?: string | undefined; clientId?: string | undefined; clientSecret?: string | undefined; scopes?: string[] | undefined; conditions?: TrustCondition[] | undefined; status?: "active" | "disabled" | undefined; idJag?: boolean | undefined };

export type ConnectionPage = { data: Connection[]; total: number; page: number; limit: number };

export type ConsoleLink = { url: string; code: string; expiresAt: string };

export type CreatedDelegation = { chainId: string; parentChainId: string | null; rootChainId: string; depth: number; subjectType: "agent" | "person"; subjectId: string; delegatorType: "agent" | "person"; delegatorId: string; delegateeId: string; scopes: string[]; resource: string[] | null; purpose: string | null; allowRedelegation: boolean; origin: "api" | "consent" | "approval" | "assertion" | "console"; authorizationDetails: AuthorizationDetail[] | null; status: "active" | "expired" | "revoked"; createdAt: string; expiresAt: string; revokedAt: string | null; delegationToken: string };

export type Credential = { credentialId: string; clientId: string; name: string | null; status: "active" | "revoked"; createdAt: string; expiresAt: string | null; revokedAt: string | null; lastUsedAt: string | null };

export type CredentialPage = { data: Credential[]; total: number; page: number; limit: number };

export type CredentialRotation = { expiresAt?: string | null | undefined };

export type CredentialWithSecret = { credentialId: string; clientId: string; name: string | null; status: "active" | "revoked"; createdAt: string; expiresAt: string | null; revokedAt: string | null; lastUsedAt: string | null; clientSecret: string };

export type DelegatedAccess = { chainId: string; subjectType: "agent" | "person"; subjectId: string; delegatorType: "agent" | "person"; delegatorId: string; audiences: string[]; scopes: string[]; expiresAt: string };

export type DelegationChain = { chainId: string; parentChainId: string | null; rootChainId: string; depth: number; subjectType: "agent" | "person"; subjectId: string; delegatorType: "agent" | "person"; delegatorId: string; delegateeId: string; scopes: string[]; resource: string[] | null; purpose: string | null; allowRedelegation: boolean; origin: "api" | "consent" | "approval" | "assertion" | "console"; authorizationDetails: AuthorizationDetail[] | null; status: "active" | "expired" | "revoked"; createdAt: string; expiresAt: string; revokedAt: string | null };

export type DelegationPage = { data: DelegationChain[]; total: number; page: number; limit: number };

export type DelegationQuestion = { token: string };

export type DelegationWithLinks = { chainId: string; parentChainId: string | null; rootChainId: string; depth: number; subjectType: "agent" | "person"; subjectId: string; delegatorType: "agent" | "person"; delegatorId: string; delegateeId: string; scopes: string[]; resource: string[] | null; purpose: string | null; allowRedelegation: boolean; origin: "api" | "consent" | "approval" | "assertion" | "console"; authorizationDetails: AuthorizationDetail[] | null; status: "active" | "expired" | "revoked"; createdAt: string; expiresAt: string; revokedAt: string | null; effectiveScopes: string[]; chain: EffectiveDelegation[] };

export type DidDocument = { "@context": string[]; id: string; controller: string; verificationMethod: ({ id: string; type: string; controller: string; publicKeyJwk: { kty: string; crv?: string | undefined; x?: string | undefined; y?: string | undefined; n?: string | undefined; e?: string | undefined; use?: string | undefined; kid?: string | undefined } })[]; authentication: string[]; assertionMethod?: string[] | undefined; service?: { id: string; type: string; serviceEndpoint: string }[] | undefined; agntcy?: { agentId: string; agentType: string; capabilities: string[]; deploymentEnv: string; owner: string; version: string } | undefined };

export type DidResolution = { didDocument: DidDocument; didDocumentMetadata: { created: string; updated: string; deactivated: boolean }; didResolutionMetadata: { contentType: string; retrieved: string } };

export type EffectiveDelegation = { chainId: string; parentChainId: string | null; rootChainId: string; depth: number; subjectType: "agent" | "person"; subjectId: string; delegatorType: "agent" | "person"; delegatorId: string; delegateeId: string; scopes: string[]; resource: string[] | null; purpose: string | null; allowRedelegation: boolean; origin: "api" | "consent" | "approval" | "assertion" | "console"; authorizationDetails: AuthorizationDetail[] | null; status: "active" | "expired" | "revoked"; createdAt: string; expiresAt: string; revokedAt: string | null; effectiveScopes: string[] };

export type Error = { code: string; message: string; details?: Record<string, unknown> | undefined };

export type ExchangedToken = { access_token: string; issued_token_type: string; token_type: "Bearer" | "DPoP"; expires_in: number; scope: string };

export type FederationPartner = { id: string; name: string; issuer: string; jwksUri: string; idJag: boolean; createdAt: string; updatedAt: string };

export type FederationPartnerChange = { name?: string | undefined; issuer?: string | undefined; jwksUri?: string | undefined; idJag?: boolean | undefined };

export type Grant = { agentId: string; resourceId: string; identifier: string; scopes: string[]; grantedBy: string; createdAt: string; updatedAt: string };

export type GrantPage = { data: Grant[]; total: number; page: number; limit: number };

export type Health = { status: "ok"; checks: { database: "ok"; redis: "ok" | "away" }; audit: { status: "ok" | "delayed"; oldestUnlinkedSeconds: number } };

export type IdTokenRequest = { audience: string; ttl?: string | undefined };

export type IdTokenResponse = { id_token: string; issued_token_type: string; expires_in: number; audience: string };

export type Instance = { version: string; node: string; startedAt: string; signingKeys: InstanceSigningKey[]; audit: InstanceAudit; configuration: InstanceSetting[] };

export type InstanceAudit = { linking: "ok" | "delayed"; treeHead: InstanceTreeHead | null };

export type InstanceSetting = { name: string; group: string; description: string; value: string | null; hidden: boolean; isSet: boolean };

export type InstanceSigningKey = { keyId: string; algorithm: string | null; status: "active" | "previous" | "next" | "retired"; signsSince: string | null };

export type InstanceTreeHead = { number: number; time: string; size: number; keyId: string };

export type Introspection = { active: boolean; sub?: string | undefined; client_id?: string | undefined; scope?: string | undefined; token_type?: "Bearer" | "DPoP" | undefined; iat?: number | undefined; exp?: number | undefined; aud?: string | undefined; iss?: string | undefined; jti?: string | undefined; organization_id?: string | undefined; cnf?: { jkt: string } | undefined; act?: { sub: string } & Record<string, unknown> | undefined; chain_id?: string | undefined; sub_profile?: "person" | undefined; client_uri?: string | undefined; authorization_details?: AuthorizationDetail[] | undefined };

export type IntrospectionRequest = { token: string; token_type_hint?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion_type?: string | undefined; client_assertion?: string | undefined };

export type KeySet = { keys: PublicJwk[] };

export type ListedAgent = { agentId: string; organizationId: string; email: string; displayName: string | null; agentType: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom"; version: string; capabilities: string[]; owner: string; deploymentEnv: "development" | "staging" | "production"; labels: Record<string, string>; status: "active" | "suspended" | "decommissioned"; allowedScopes: string[]; rateLimitPerMinute: number | null; redirectUris: string[]; publicClient: boolean; clientUri: string | null; notificationUri: string | null; dpopBoundAccessTokens: boolean; createdAt: string; updatedAt: string; lastTokenDate?: string | null | undefined; secretExpiresAt?: string | null | undefined; grantedApis?: number | undefined };

export type ListedResourceShare = { resourceId: string; organizationId: string; scopes: string[]; offeredScopes: string[]; status: "offered" | "accepted"; createdAt: string; updatedAt: string; agentCount: number };

export type Listing = { listingId: string; agentId: string; organizationId: string; organizationName: string; organizationSlug: string; title: string; summary: string; description: string; categories: string[]; tags: string[]; capabilities: string[]; agentType: string; version: string; endpoints: { protocol: string; url: string }[]; documentationUrl: string | null; pricing: { model: string; url: string | null }; visibility: "public" | "organization"; verified: boolean; did: string; cardUrl: string; status: "draft" | "published" | "suspended" | "withdrawn"; publishedAt: string | null; createdAt: string; updatedAt: string };

export type ListingChange = { title?: string | undefined; summary?: string | undefined; description?: string | undefined; categories?: string[] | undefined; tags?: string[] | undefined; endpoints?: ({ protocol: "a2a" | "mcp" | "http"; url: string })[] | undefined; documentationUrl?: string | null | undefined; pricing?: { model: "free" | "contact" | "external"; url?: string | null | undefined } | undefined; visibility?: "public" | "organization" | undefined; status?: "draft" | "published" | "suspended" | "withdrawn" | undefined };

export type ListingPage = { data: Listing[]; total: number; page: number; limit: number };

export type MemberChange = { role?: "member" | "admin" | undefined };

export type Membership = { memberId: string; organizationId: string; agentId: string; role: "member" | "admin"; joinedAt: string };

export type MembershipPage = { data: Membership[]; total: number; page: number; limit: number };

export type NewAgent = { email: string; agentType: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom"; version: string; capabilities: string[]; owner: string; deploymentEnv: "development" | "staging" | "production"; displayName?: string | null | undefined; labels?: Record<string, string> | undefined; organization_id?: string | undefined; allowedScopes?: ("agents:read" | "agents:write" | "tokens:read" | "audit:read" | "webhooks:read" | "webhooks:write" | "resources:read" | "resources:write" | "admin:orgs")[] | undefined; rateLimitPerMinute?: number | null | undefined; redirectUris?: string[] | undefined; publicClient?: boolean | undefined; notificationUri?: string | null | undefined; dpopBoundAccessTokens?: boolean | undefined };

export type NewAuthorizationDetailType = { type: string; description?: string | null | undefined; schema: Record<string, unknown> };

export type NewCheckout = { target_tier: "pro" | "enterprise"; organization_id?: string | undefined };

export type NewConnection = { name: string; issuer: string; clientId: string; clientSecret: string; scopes?: string[] | undefined; conditions?: TrustCondition[] | undefined; idJag?: boolean | undefined };

export type NewCredential = { expiresAt?: string | null | undefined; name?: string | null | undefined };

export type NewDelegation = { delegateeId: string; delegatorId?: string | undefined; scopes: string[]; expiresIn?: number | undefined; resource?: string[] | null | undefined; parentToken?: string | undefined; purpose?: string | null | undefined; allowRedelegation?: boolean | undefined };

export type NewFederationPartner = { name: string; issuer: string; jwksUri: string; idJag?: boolean | undefined };

export type NewListing = { agentId: string; title: string; summary: string; description?: string | undefined; categories?: string[] | undefined; tags?: string[] | undefined; endpoints?: ({ protocol: "a2a" | "mcp" | "http"; url: string })[] | undefined; documentationUrl?: string | null | undefined; pricing?: { model: "free" | "contact" | "external"; url?: string | null | undefined } | undefined; visibility?: "public" | "organization" | undefined };

export type NewMember = { agentId: string; role: "member" | "admin" };

export type NewOrganization = { name: string; slug: string; planTier?: "free" | "pro" | "enterprise" | undefined; maxAgents?: number | undefined; maxTokensPerMonth?: number | undefined };

export type NewPerson = { issuer?: string | undefined; subject?: string | undefined; email?: string | undefined; connectionId?: string | undefined; name: string; role: "admin" | "viewer" | "member"; agentId?: string | null | undefined };

export type NewPortal = { organization_id?: string | undefined };

export type NewResource = { identifier: string; name: string; scopes: NewResourceScope[]; description?: string | null | undefined; tokenLifetimeSeconds?: number | undefined; claims?: ("agentType" | "capabilities" | "owner" | "deploymentEnv" | "version" | "personName" | "personEmail" | "personSubject")[] | undefined; peopleScopes?: string[] | undefined; approvers?: string[] | undefined; authorizationDetailTypes?: NewAuthorizationDetailType[] | undefined };

export type NewResourceScope = { name: string; description?: string | null | undefined };

export type NewSignalDelivery = { method: "urn:ietf:rfc:8935" | "urn:ietf:rfc:8936"; endpoint_url?: string | undefined; authorization_header?: string | undefined };

export type NewSignalStream = { delivery?: NewSignalDelivery | undefined; events_requested?: string[] | undefined; description?: string | undefined; inactivity_timeout?: number | undefined };

export type NewTrustPolicy = { agentId: string; name: string; provider: "github" | "gitlab" | "kubernetes" | "aws" | "gcp" | "azure" | "spiffe" | "custom"; issuer?: string | undefined; jwksUri?: string | null | undefined; audiences: string[]; subject?: string | null | undefined; conditions?: TrustCondition[] | undefined; scopes: ("agents:read" | "agents:write" | "tokens:read" | "audit:read" | "webhooks:read" | "webhooks:write" | "resources:read" | "resources:write" | "admin:orgs")[]; resources?: TrustPolicyResource[] | undefined; actsAsAdmin?: boolean | undefined; maxTokenAgeSeconds?: number | undefined; singleUse?: boolean | undefined; status?: "active" | "disabled" | undefined };

export type NewWebhookSubscription = { name: string; url: string; events: ("*" | "agent.created" | "agent.updated" | "agent.suspended" | "agent.reactivated" | "agent.decommissioned" | "credential.generated" | "credential.rotated" | "credential.revoked" | "token.issued" | "token.revoked" | "resource.created" | "resource.updated" | "resource.deleted" | "resource.shared" | "resource.unshared" | "grant.changed" | "grant.removed" | "share.offered" | "share.accepted" | "share.declined" | "delegation.created" | "delegation.revoked" | "trust_policy.created" | "trust_policy.updated" | "trust_policy.deleted" | "member.added" | "member.changed" | "member.removed" | "person.created" | "person.changed" | "person.removed" | "person.suspended" | "person.activated" | "connection.created" | "connection.updated" | "connection.deleted" | "client.registered" | "consent.granted" | "consent.denied" | "consent.revoked" | "approval.requested" | "approval.approved" | "approval.denied" | "approval.expired" | "approval.canceled" | "session.created" | "session.ended" | "session.refused" | "token.refused" | "policy.refused")[] };

export type Nothing = Record<string, unknown>;

export type OasfRecord = { schema_version: "0.7.0"; name: string; version: string; description: string; authors: string[]; created_at: string; skills: ({ id: 10901; name: "natural_language_processing/text_classification/topic_labeling" } | { id: 10301; name: "natural_language_processing/information_retrieval_synthesis/fact_extraction" } | { id: 10202; name: "natural_language_processing/natural_language_generation/summarization" } | { id: 10702; name: "natural_language_processing/analytical_reasoning/problem_solving" })[]; locators: ({ type: "unspecified" | "helm_chart" | "docker_image" | "python_package" | "source_code" | "binary"; url: string })[]; annotations: Record<string, string>; signature?: { signed_at: string; algorithm: string; signature: string; content_type: string; content_bundle: string } | undefined };

export type Organization = { organizationId: string; name: string; slug: string; planTier: "free" | "pro" | "enterprise"; maxAgents: number; maxTokensPerMonth: number; status: "active" | "suspended" | "deleted"; createdAt: string; updatedAt: string };

export type OrganizationChange = { name?: string | undefined; planTier?: "free" | "pro" | "enterprise" | undefined; maxAgents?: number | null | undefined; maxTokensPerMonth?: number | null | undefined; status?: "active" | "suspended" | undefined };

export type OrganizationPage = { data: Organization[]; total: number; page: number; limit: number };

export type OutsideTokenExchange = { grant_type?: string | undefined; subject_token?: string | undefined; subject_token_type?: string | undefined; requested_token_type?: string | undefined; actor_token?: string | undefined; client_id?: string | undefined; scope?: string | undefined; resource?: string | undefined; audience?: string | undefined };

export type Overview = { organizationId: string; generatedAt: string; agents: OverviewAgents; tokensToday: OverviewTokensToday; tokens: OverviewTokens | null; refusals: OverviewRefusals | null; approvals: OverviewApprovals | null; expiringCredentials: OverviewExpiringCredentials; writingAgents: OverviewWritingAgents; failingDeliveries: OverviewFailingWebhook[] | null; audit: OverviewAudit | null; firstSteps: OverviewFirstSteps };

export type OverviewAgents = { active: number; suspended: number };

export type OverviewApprovals = { waiting: number; medianDecisionSeconds: number | null };

export type OverviewAudit = { intact: boolean; checkedAt: string | null };

export type OverviewExpiringCredentials = { data: ({ agentId: string; email: string; credentialId: string; name: string | null; expiresAt: string })[]; total: number };

export type OverviewFailingWebhook = { id: string; name: string; url: string; active: boolean; failed: number; deadLetter: number; lastError: string | null; lastFailedAt: string | null };

export type OverviewFirstSteps = { agents: boolean; credentials: boolean; tokens: boolean; agentId: string | null };

export type OverviewRefusals = { since: string; total: number; data: ({ action: string; reason: string | null; count: number })[]; truncatedBefore: string | null };

export type OverviewTokens = { data: { minute: string; issued: number; refused: number }[]; truncatedBefore: string | null };

export type OverviewTokensToday = { since: string; issued: number };

export type OverviewWritingAgents = { data: { agentId: string; email: string; scopes: string[] }[]; total: number };

export type PartnerToken = { token: string; audience?: string | undefined };

export type PartnerTokenVerification = { valid: boolean; claims?: Record<string, unknown> | undefined; reason?: "too_large" | "malformed" | "type_not_allowed" | "too_many_actors" | "algorithm_not_allowed" | "critical_header" | "own_token" | "unknown_issuer" | "keys_unavailable" | "unknown_key" | "bad_signature" | "missing_claim" | "expired" | "not_yet_valid" | "issued_in_future" | "audience_mismatch" | undefined };

export type Person = { personId: string; organizationId: string; issuer: string | null; subject: string | null; name: string; role: "admin" | "viewer" | "member"; agentId: string | null; email: string | null; connectionId: string | null; status: "active" | "suspended"; createdAt: string; updatedAt: string; lastSignInAt: string | null };

export type PersonChange = { name?: string | undefined; role?: "admin" | "viewer" | "member" | undefined; agentId?: string | null | undefined; status?: "active" | "suspended" | undefined };

export type PersonPage = { data: Person[]; total: number; page: number; limit: number };

export type PolicyAccess = { policyId: string; name: string; issuer: string; subject: string | null; scopes: string[]; resources: PolicyResourceAccess[]; actsAsAdmin: boolean };

export type PolicyResourceAccess = { identifier: string; scopes: string[] };

export type Portal = { portalUrl: string };

export type Probe = { status: "ok" };

export type Product = { name: string; version: string; docs: string; console: string };

export type PublicJwk = { kty: "RSA" | "EC" | "OKP"; kid?: string | undefined; use?: "sig" | undefined; alg?: string | undefined; key_ops?: "verify"[] | undefined; ext?: boolean | undefined; crv?: "P-256" | "P-384" | "Ed25519" | undefined; x?: string | undefined; y?: string | undefined; n?: string | undefined; e?: string | undefined };

export type ReceivedShare = { resourceId: string; identifier: string; name: string; verified: boolean; ownerId: string; ownerName: string; ownerSlug: string; scopes: string[]; offeredScopes: string[]; status: "offered" | "accepted"; createdAt: string; updatedAt: string };

export type ReceivedSharePage = { data: ReceivedShare[]; total: number; page: number; limit: number };

export type RemovedSignalSubject = { stream_id: string; subject: { format: string } & Record<string, unknown> };

export type ReportedApprovals = { since: string; pending: number; approved: number; denied: number; expired: number; canceled: number; data: (({ approvalId: string; agentId: string; resource: string; scopes: string[]; status: "pending" | "approved" | "denied" | "expired" | "canceled"; decidedBy: string | null; createdAt: string; decidedAt: string | null })[]) | null };

export type Resource = { resourceId: string; organizationId: string; identifier: string; name: string; description: string | null; scopes: ResourceScope[]; tokenLifetimeSeconds: number; claims: ("agentType" | "capabilities" | "owner" | "deploymentEnv" | "version" | "personName" | "personEmail" | "personSubject")[]; peopleScopes: string[]; approvers: string[]; authorizationDetailTypes: AuthorizationDetailType[]; verification: ResourceVerification; createdAt: string; updatedAt: string };

export type ResourceChange = { name?: string | undefined; scopes?: NewResourceScope[] | undefined; description?: string | null | undefined; tokenLifetimeSeconds?: number | undefined; claims?: ("agentType" | "capabilities" | "owner" | "deploymentEnv" | "version" | "personName" | "personEmail" | "personSubject")[] | undefined; peopleScopes?: string[] | undefined; approvers?: string[] | undefined; authorizationDetailTypes?: NewAuthorizationDetailType[] | undefined };

export type ResourcePage = { data: Resource[]; total: number; page: number; limit: number };

export type ResourceScope = { name: string; description: string | null };

export type ResourceScopeNames = { scopes: string[] };

export type ResourceShare = { resourceId: string; organizationId: string; scopes: string[]; offeredScopes: string[]; status: "offered" | "accepted"; createdAt: string; updatedAt: string };

export type ResourceSharePage = { data: ListedResourceShare[]; total: number; page: number; limit: number };

export type ResourceVerification = { status: "pending" | "verified"; host: string; method: ("dns" | "well-known" | "operator") | null; token: string | null };

export type ResourceVerificationRequest = { approve?: boolean | undefined };

export type SignalPoll = { maxEvents?: number | undefined; returnImmediately?: boolean | undefined; ack?: string[] | undefined; setErrs?: Record<string, { err: string; description?: string | undefined } & Record<string, unknown>> | undefined };

export type SignalStream = { stream_id: string; iss: string; aud: string; delivery: { method: "urn:ietf:rfc:8935" | "urn:ietf:rfc:8936"; endpoint_url: string }; events_supported: string[]; events_requested: string[]; events_delivered: string[]; description?: string | undefined; inactivity_timeout?: number | undefined };

export type SignalStreamChange = { stream_id: string; delivery?: NewSignalDelivery | undefined; events_requested?: string[] | undefined; description?: string | undefined; inactivity_timeout?: number | undefined; iss?: string | undefined; aud?: string | undefined; events_supported?: string[] | undefined; events_delivered?: string[] | undefined };

export type SignalStreamReplacement = { stream_id: string; delivery?: NewSignalDelivery | undefined; events_requested?: string[] | undefined; description?: string | undefined; inactivity_timeout?: number | undefined; iss?: string | undefined; aud?: string | undefined; events_supported?: string[] | undefined; events_delivered?: string[] | undefined };

export type SignalStreamStatus = { stream_id: string; status: "enabled" | "paused" | "disabled"; reason?: string | undefined };

export type SignalStreamStatusChange = { stream_id: string; status: "enabled" | "paused" | "disabled"; reason?: string | undefined };

export type SignalVerification = { stream_id: string; state?: string | undefined };

export type Signals = { sets: Record<string, string>; moreAvailable: boolean };

export type Soc2Control = { id: string; name: string; status: "pass" | "fail" | "unknown"; reason: ("not_applicable" | "not_visible" | "not_checked") | null; lastChecked: string };

export type Soc2Controls = { controls: Soc2Control[] };

export type Subscription = { organizationId: string; tier: "free" | "pro" | "enterprise"; status: "none" | "incomplete" | "active" | "past_due" | "canceled"; provider: ("stripe" | "embedded") | null; currentPeriodEnd: string | null; cancelAtPeriodEnd: boolean; updatedAt: string };

export type TestedToken = { token: string };

export type TierCheckout = { checkoutUrl: string };

export type TierStatus = { tier: "free" | "pro" | "enterprise"; limits: { maxAgents: number; maxCallsPerDay: number; maxTokensPerDay: number }; usage: { agentCount: number; callsToday: number; tokensToday: number } };

export type TierUpgrade = { target_tier: "pro" | "enterprise" };

export type TokenError = { error: string; error_description?: string | undefined; code?: string | undefined; message?: string | undefined };

export type TokenPreview = { allowed: boolean; claims?: Record<string, unknown> | undefined; proofRequired?: boolean | undefined; error?: string | undefined; reason?: string | undefined };

export type TokenPreviewRequest = { agentId: string; resource?: string | undefined; scope?: string | undefined };

export type TokenQuestion = { token: string; token_type_hint?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion_type?: string | undefined; client_assertion?: string | undefined };

export type TokenRequest = { grant_type?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion_type?: string | undefined; client_assertion?: string | undefined; scope?: string | undefined; resource?: string | undefined; subject_token?: string | undefined; subject_token_type?: string | undefined; requested_token_type?: string | undefined; audience?: string | undefined; actor_token?: string | undefined; actor_token_type?: string | undefined; authorization_details?: string | undefined; code?: string | undefined; redirect_uri?: string | undefined; code_verifier?: string | undefined; refresh_token?: string | undefined; auth_req_id?: string | undefined; assertion?: string | undefined };

export type TokensByAgent = { tenantId: string; month: string; data: { agentId: string; tokenCount: number }[] };

export type TokensByDay = { tenantId: string; days: number; data: { date: string; count: number }[] };

export type TrustCheck = { name: string; ok: boolean; expected: string; actual: string | null };

export type TrustCondition = { claim: string; operator: "equals" | "in" | "glob" | "exists"; values?: string[] | undefined };

export type TrustPolicy = { policyId: string; organizationId: string; agentId: string; name: string; provider: "github" | "gitlab" | "kubernetes" | "aws" | "gcp" | "azure" | "spiffe" | "custom"; issuer: string; jwksUri: string | null; audiences: string[]; subject: string | null; conditions: TrustCondition[]; scopes: string[]; resources: TrustPolicyResource[]; actsAsAdmin: boolean; maxTokenAgeSeconds: number; singleUse: boolean; status: "active" | "disabled"; lastUsedAt: string | null; createdAt: string; updatedAt: string };

export type TrustPolicyChange = { name?: string | undefined; issuer?: string | undefined; jwksUri?: string | null | undefined; audiences?: string[] | undefined; subject?: string | null | undefined; conditions?: TrustCondition[] | undefined; scopes?: ("agents:read" | "agents:write" | "tokens:read" | "audit:read" | "webhooks:read" | "webhooks:write" | "resources:read" | "resources:write" | "admin:orgs")[] | undefined; resources?: TrustPolicyResource[] | undefined; actsAsAdmin?: boolean | undefined; maxTokenAgeSeconds?: number | undefined; singleUse?: boolean | undefined; status?: "active" | "disabled" | undefined };

export type TrustPolicyPage = { data: TrustPolicy[]; total: number; page: number; limit: number };

export type TrustPolicyResource = { identifier: string; scopes: string[] };

export type TrustTest = { matched: boolean; checks: TrustCheck[]; claims: Record<string, unknown>; resources?: TrustPolicyResource[] | undefined };

export type Usage = { organizationId: string; from: string; to: string; data: ({ date: string; agentId?: string | undefined; metric: "api_calls" | "tokens_issued" | "token_exchanges" | "delegations_created" | "webhook_deliveries" | "introspections"; quantity: number })[]; totals: { api_calls?: number | undefined; tokens_issued?: number | undefined; token_exchanges?: number | undefined; delegations_created?: number | undefined; webhook_deliveries?: number | undefined; introspections?: number | undefined } };

export type UsageLimits = { tier: "free" | "pro" | "enterprise"; limits: ({ limitType: "max_agents" | "api_calls_per_day" | "tokens_per_day" | "tokens_per_month"; limit: number; used: number; remaining: number; resetsAt: string | null })[] };

export type VerifiedDelegation = { valid: true; chainId: string; subjectId: string; actorId: string; scopes: string[]; depth: number; expiresAt: string; chain: DelegationChain[] };

export type WebhookAttempt = { attempted_at: string; duration_ms: number; http_status_code: number | null; error: string | null; response_excerpt: string | null };

export type WebhookDelivery = { id: string; subscription_id: string; event_type: string; payload: Record<string, unknown>; status: "pending" | "delivered" | "failed" | "dead_letter"; http_status_code: number | null; attempt_count: number; next_retry_at: string | null; delivered_at: string | null; created_at: string; updated_at: string; attempts: WebhookAttempt[] };

export type WebhookDeliveryCounts = { pending: number; delivered: number; failed: number; dead_letter: number; open_replays: number };

export type WebhookDeliveryPage = { deliveries: WebhookDelivery[]; total: number; limit: number; offset: number };

export type WebhookReplay = { count: number };

export type WebhookReplayRequest = { status?: "delivered" | "failed" | "dead_letter" | undefined; since: string; until?: string | undefined };

export type WebhookSecretRotation = { overlapSeconds?: number | undefined };

export type WebhookSubscription = { id: string; organization_id: string; name: string; url: string; events: string[]; active: boolean; failure_count: number; previous_secret_expires_at: string | null; created_at: string; updated_at: string };

export type WebhookSubscriptionChange = { name?: string | undefined; url?: string | undefined; events?: ("*" | "agent.created" | "agent.updated" | "agent.suspended" | "agent.reactivated" | "agent.decommissioned" | "credential.generated" | "credential.rotated" | "credential.revoked" | "token.issued" | "token.revoked" | "resource.created" | "resource.updated" | "resource.deleted" | "resource.shared" | "resource.unshared" | "grant.changed" | "grant.removed" | "share.offered" | "share.accepted" | "share.declined" | "delegation.created" | "delegation.revoked" | "trust_policy.created" | "trust_policy.updated" | "trust_policy.deleted" | "member.added" | "member.changed" | "member.removed" | "person.created" | "person.changed" | "person.removed" | "person.suspended" | "person.activated" | "connection.created" | "connection.updated" | "connection.deleted" | "client.registered" | "consent.granted" | "consent.denied" | "consent.revoked" | "approval.requested" | "approval.approved" | "approval.denied" | "approval.expired" | "approval.canceled" | "session.created" | "session.ended" | "session.refused" | "token.refused" | "policy.refused")[] | undefined; active?: boolean | undefined };

export type WebhookSubscriptionWithSecret = { id: string; organization_id: string; name: string; url: string; events: string[]; active: boolean; failure_count: number; previous_secret_expires_at: string | null; created_at: string; updated_at: string; signingSecret: string };

export type Witnessed = { checkpointSize: number; time: string; witnesses: string[] };

/** Parameters of the path, query, body and answer of each operation, by operation id. */
export interface Operations {
  acceptShare: { params: { resourceId: string }; query: {  }; body: undefined; response: ReceivedShare };
  addMember: { params: { orgId: string }; query: {  }; body: NewMember; response: Membership };
  addSignalSubject: { params: {  }; query: {  }; body: AddedSignalSubject; response: undefined };
  authorizationServer: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  cancelApproval: { params: { approvalId: string }; query: {  }; body: undefined; response: undefined };
  cancelSubscription: { params: {  }; query: { organization_id?: string | undefined }; body: undefined; response: undefined };
  countWebhookDeliveries: { params: { id: string }; query: { since?: string | undefined; until?: string | undefined }; body: undefined; response: WebhookDeliveryCounts };
  createAgent: { params: {  }; query: {  }; body: NewAgent; response: Agent };
  createConnection: { params: { orgId: string }; query: {  }; body: NewConnection; response: Connection };
  createConsoleLink: { params: {  }; query: {  }; body: undefined; response: ConsoleLink };
  createDelegation: { params: {  }; query: {  }; body: NewDelegation; response: CreatedDelegation };
  createListing: { params: {  }; query: {  }; body: NewListing; response: Listing };
  createOrganization: { params: {  }; query: {  }; body: NewOrganization; response: Organization };
  createResource: { params: {  }; query: {  }; body: NewResource; response: Resource };
  createSignalStream: { params: {  }; query: {  }; body: NewSignalStream; response: SignalStream };
  createTrustPolicy: { params: {  }; query: {  }; body: NewTrustPolicy; response: TrustPolicy };
  createWebhook: { params: {  }; query: {  }; body: NewWebhookSubscription; response: WebhookSubscriptionWithSecret };
  declineShare: { params: { resourceId: string }; query: {  }; body: undefined; response: undefined };
  decommissionAgent: { params: { agentId: string }; query: {  }; body: undefined; response: undefined };
  deleteAgentGrant: { params: { agentId: string; resourceId: string }; query: {  }; body: undefined; response: undefined };
  deleteConnection: { params: { orgId: string; connectionId: string }; query: {  }; body: undefined; response: undefined };
  deleteListing: { params: { listingId: string }; query: {  }; body: undefined; response: undefined };
  deleteOrganization: { params: { orgId: string }; query: {  }; body: undefined; response: undefined };
  deleteResource: { params: { resourceId: string }; query: {  }; body: undefined; response: undefined };
  deleteResourceShare: { params: { resourceId: string; organizationId: string }; query: {  }; body: undefined; response: undefined };
  deleteSignalStream: { params: {  }; query: { stream_id: string }; body: undefined; response: undefined };
  deleteTrustPolicy: { params: { policyId: string }; query: {  }; body: undefined; response: undefined };
  deleteWebhook: { params: { id: string }; query: {  }; body: undefined; response: undefined };
  exchangeOutsideToken: { params: {  }; query: {  }; body: OutsideTokenExchange; response: ExchangedToken };
  exportAgentCards: { params: {  }; query: {  }; body: undefined; response: AgentCard[] };
  exportAudit: { params: {  }; query: { organizationId?: string | undefined }; body: undefined; response: globalThis.Response };
  exportUsage: { params: {  }; query: { from?: string | undefined; to?: string | undefined; metric?: "api_calls" | "tokens_issued" | "token_exchanges" | "delegations_created" | "webhook_deliveries" | "introspections" | undefined; format?: "csv" | "jsonl" | undefined }; body: undefined; response: globalThis.Response };
  forwardAuth: { params: {  }; query: { resource: string; scope?: string | undefined; organization_id?: string | undefined }; body: undefined; response: undefined };
  generateCredential: { params: { agentId: string }; query: {  }; body: NewCredential; response: CredentialWithSecret };
  getA2aCard: { params: { agentId: string }; query: {  }; body: undefined; response: A2aAgentCard };
  getActivityAnalytics: { params: {  }; query: {  }; body: undefined; response: AgentActivity };
  getAgent: { params: { agentId: string }; query: {  }; body: undefined; response: Agent };
  getAgentAccess: { params: { agentId: string }; query: {  }; body: undefined; response: AgentAccess };
  getAgentAnalytics: { params: {  }; query: {  }; body: undefined; response: TokensByAgent };
  getAgentCard: { params: { agentId: string }; query: { format?: "a2a" | "oasf" | "badge" | undefined }; body: undefined; response: AgentCard | A2aAgentCard | OasfRecord | AgentBadge };
  getAgentKeys: { params: { agentId: string }; query: {  }; body: undefined; response: KeySet };
  getApproval: { params: { approvalId: string }; query: {  }; body: undefined; response: Approval };
  getApprovalAnalytics: { params: {  }; query: { days?: number | undefined; page?: number | undefined; limit?: number | undefined }; body: undefined; response: ApprovalsByAgent };
  getApprovalPolicy: { params: { orgId: string }; query: {  }; body: undefined; response: ApprovalPolicy };
  getAuditArchive: { params: { date: string }; query: { organizationId?: string | undefined }; body: undefined; response: globalThis.Response };
  getAuditChain: { params: {  }; query: { after?: number | undefined; limit?: number | undefined; organizationId?: string | undefined }; body: undefined; response: AuditChain };
  getAuditEvent: { params: { eventId: string }; query: {  }; body: undefined; response: AuditEvent };
  getClientPolicy: { params: { orgId: string }; query: {  }; body: undefined; response: ClientPolicy };
  getComplianceReport: { params: {  }; query: {  }; body: undefined; response: ComplianceReport };
  getConnection: { params: { orgId: string; connectionId: string }; query: {  }; body: undefined; response: Connection };
  getControls: { params: {  }; query: {  }; body: undefined; response: Soc2Controls };
  getDelegation: { params: { chainId: string }; query: {  }; body: undefined; response: DelegationWithLinks };
  getDid: { params: { agentId: string }; query: {  }; body: undefined; response: DidDocument };
  getDidAtRoot: { params: { agentId: string }; query: {  }; body: undefined; response: DidDocument };
  getInstance: { params: {  }; query: {  }; body: undefined; response: Instance };
  getListing: { params: { listingId: string }; query: {  }; body: undefined; response: Listing };
  getMarketplaceAgent: { params: { listingId: string }; query: {  }; body: undefined; response: Listing };
  getOrganization: { params: { orgId: string }; query: {  }; body: undefined; response: Organization };
  getOverview: { params: {  }; query: { organizationId?: string | undefined; startOfDay?: string | undefined }; body: undefined; response: Overview };
  getPartner: { params: { id: string }; query: {  }; body: undefined; response: FederationPartner };
  getResource: { params: { resourceId: string }; query: {  }; body: undefined; response: Resource };
  getSignalStream: { params: {  }; query: { stream_id?: string | undefined }; body: undefined; response: SignalStream | SignalStream[] };
  getSignalStreamStatus: { params: {  }; query: { stream_id: string }; body: undefined; response: SignalStreamStatus };
  getSubscription: { params: {  }; query: { organization_id?: string | undefined }; body: undefined; response: Subscription };
  getTierStatus: { params: {  }; query: {  }; body: undefined; response: TierStatus };
  getTokenAnalytics: { params: {  }; query: { days?: number | undefined }; body: undefined; response: TokensByDay };
  getTrustPolicy: { params: { policyId: string }; query: {  }; body: undefined; response: TrustPolicy };
  getUsage: { params: {  }; query: { from?: string | undefined; to?: string | undefined; metric?: "api_calls" | "tokens_issued" | "token_exchanges" | "delegations_created" | "webhook_deliveries" | "introspections" | undefined; groupBy?: "day" | "agent" | undefined }; body: undefined; response: Usage };
  getUsageLimits: { params: {  }; query: {  }; body: undefined; response: UsageLimits };
  getWebhook: { params: { id: string }; query: {  }; body: undefined; response: WebhookSubscription };
  getWebhookDelivery: { params: { id: string; deliveryId: string }; query: {  }; body: undefined; response: WebhookDelivery };
  health: { params: {  }; query: {  }; body: undefined; response: Health };
  instanceDid: { params: {  }; query: {  }; body: undefined; response: DidDocument };
  introspectToken: { params: {  }; query: {  }; body: IntrospectionRequest; response: Introspection };
  invitePerson: { params: { orgId: string }; query: {  }; body: NewPerson; response: Person };
  issueIdToken: { params: {  }; query: {  }; body: IdTokenRequest; response: IdTokenResponse };
  issueToken: { params: {  }; query: {  }; body: TokenRequest; response: AccessTokenResponse };
  jwks: { params: {  }; query: {  }; body: undefined; response: { keys: Record<string, unknown>[] } };
  listAgentGrants: { params: { agentId: string }; query: { page?: number | undefined; limit?: number | undefined; resourceId?: string | undefined }; body: undefined; response: GrantPage };
  listAgents: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; since?: string | undefined; until?: string | undefined; ids?: string | undefined; organizationId?: string | undefined; owner?: string | undefined; agentType?: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom" | undefined; status?: "active" | "suspended" | "decommissioned" | undefined; deploymentEnv?: "development" | "staging" | "production" | undefined; email?: string | undefined; capability?: string | undefined; label?: string[] | undefined; registration?: "manual" | "document" | undefined; q?: string | undefined; sort?: "createdAt" | "name" | "email" | undefined; order?: "asc" | "desc" | undefined; include?: "activity" | undefined }; body: undefined; response: AgentPage };
  listApprovals: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; status?: "pending" | "approved" | "denied" | "expired" | "canceled" | undefined; agentId?: string | undefined }; body: undefined; response: ApprovalPage };
  listAuditArchives: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; from?: string | undefined; to?: string | undefined; organizationId?: string | undefined }; body: undefined; response: AuditArchivePage };
  listAuditCheckpoints: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; organizationId?: string | undefined }; body: undefined; response: AuditCheckpointPage };
  listAuditEvents: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; agentId?: string | undefined; actorId?: string | undefined; action?: string | undefined; outcome?: "success" | "failure" | undefined; reason?: string | undefined; fromDate?: string | undefined; toDate?: string | undefined; organizationId?: string | undefined }; body: undefined; response: AuditPage };
  listAuditKeys: { params: {  }; query: { page?: number | undefined; limit?: number | undefined }; body: undefined; response: AuditKeyPage };
  listAuditWitnesses: { params: {  }; query: {  }; body: undefined; response: AuditWitnesses };
  listConnections: { params: { orgId: string }; query: { page?: number | undefined; limit?: number | undefined }; body: undefined; response: ConnectionPage };
  listCredentials: { params: { agentId: string }; query: { page?: number | undefined; limit?: number | undefined; status?: "active" | "revoked" | undefined }; body: undefined; response: CredentialPage };
  listDelegationDescendants: { params: { chainId: string }; query: { page?: number | undefined; limit?: number | undefined; status?: "active" | "expired" | "revoked" | undefined }; body: undefined; response: DelegationPage };
  listDelegations: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; since?: string | undefined; until?: string | undefined; role?: "delegator" | "delegatee" | "any" | undefined; status?: "active" | "expired" | "revoked" | undefined; agentId?: string | undefined; subjectType?: "agent" | "person" | undefined; personId?: string | undefined; organizationId?: string | undefined }; body: undefined; response: DelegationPage };
  listListings: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; agentId?: string | undefined; status?: "draft" | "published" | "suspended" | "withdrawn" | undefined }; body: undefined; response: ListingPage };
  listMembers: { params: { orgId: string }; query: { page?: number | undefined; limit?: number | undefined; role?: "member" | "admin" | undefined }; body: undefined; response: MembershipPage };
  listOrganizations: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; since?: string | undefined; until?: string | undefined; status?: "active" | "suspended" | "deleted" | undefined; slug?: string | undefined }; body: undefined; response: OrganizationPage };
  listPartners: { params: {  }; query: {  }; body: undefined; response: FederationPartner[] };
  listPeople: { params: { orgId: string }; query: { page?: number | undefined; limit?: number | undefined; role?: "admin" | "viewer" | "member" | undefined; q?: string | undefined }; body: undefined; response: PersonPage };
  listReceivedShares: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; status?: "offered" | "accepted" | undefined }; body: undefined; response: ReceivedSharePage };
  listResourceGrants: { params: { resourceId: string }; query: { page?: number | undefined; limit?: number | undefined; scope?: string | undefined }; body: undefined; response: GrantPage };
  listResourceShares: { params: { resourceId: string }; query: { page?: number | undefined; limit?: number | undefined }; body: undefined; response: ResourceSharePage };
  listResources: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; since?: string | undefined; until?: string | undefined; q?: string | undefined }; body: undefined; response: ResourcePage };
  listTrustPolicies: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; since?: string | undefined; until?: string | undefined; agentId?: string | undefined; provider?: "github" | "gitlab" | "kubernetes" | "aws" | "gcp" | "azure" | "spiffe" | "custom" | undefined; status?: "active" | "disabled" | undefined }; body: undefined; response: TrustPolicyPage };
  listUsageByAgent: { params: {  }; query: { from?: string | undefined; to?: string | undefined; metric?: "api_calls" | "tokens_issued" | "token_exchanges" | "delegations_created" | "webhook_deliveries" | "introspections" | undefined; page?: number | undefined; limit?: number | undefined }; body: undefined; response: AgentUsagePage };
  listWebhookDeliveries: { params: { id: string }; query: { since?: string | undefined; until?: string | undefined; status?: "pending" | "delivered" | "failed" | "dead_letter" | undefined; limit?: number | undefined; offset?: number | undefined }; body: undefined; response: WebhookDeliveryPage };
  listWebhooks: { params: {  }; query: {  }; body: undefined; response: WebhookSubscription[] };
  livez: { params: {  }; query: {  }; body: undefined; response: Probe };
  logCheckpoint: { params: {  }; query: {  }; body: undefined; response: globalThis.Response };
  logKey: { params: {  }; query: {  }; body: undefined; response: globalThis.Response };
  metrics: { params: {  }; query: {  }; body: undefined; response: globalThis.Response };
  openBillingPortal: { params: {  }; query: {  }; body: NewPortal; response: Portal };
  openapi: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  openidConfiguration: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  pollSignals: { params: { streamId: string }; query: {  }; body: SignalPoll; response: Signals };
  previewToken: { params: {  }; query: {  }; body: TokenPreviewRequest; response: TokenPreview };
  product: { params: {  }; query: {  }; body: undefined; response: Product };
  protectedMcpServer: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  protectedResource: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  putAgentGrant: { params: { agentId: string; resourceId: string }; query: {  }; body: ResourceScopeNames; response: Grant };
  putAgentKeys: { params: { agentId: string }; query: {  }; body: KeySet; response: KeySet };
  putApprovalPolicy: { params: { orgId: string }; query: {  }; body: ApprovalPolicyChange; response: ApprovalPolicy };
  putClientPolicy: { params: { orgId: string }; query: {  }; body: ClientPolicyChange; response: ClientPolicy };
  putResourceShare: { params: { resourceId: string; organizationId: string }; query: {  }; body: ResourceScopeNames; response: ResourceShare };
  readyz: { params: {  }; query: {  }; body: undefined; response: Probe };
  receiveBillingEvent: { params: {  }; query: {  }; body: unknown; response: BillingEventReceipt };
  removeMember: { params: { orgId: string; agentId: string }; query: {  }; body: undefined; response: undefined };
  removePartner: { params: { id: string }; query: {  }; body: undefined; response: undefined };
  removePerson: { params: { orgId: string; personId: string }; query: {  }; body: undefined; response: undefined };
  removeSignalSubject: { params: {  }; query: {  }; body: RemovedSignalSubject; response: undefined };
  replaceSignalStream: { params: {  }; query: {  }; body: SignalStreamReplacement; response: SignalStream };
  replayWebhookDeliveries: { params: { id: string }; query: {  }; body: WebhookReplayRequest; response: WebhookReplay };
  replayWebhookDelivery: { params: { id: string; deliveryId: string }; query: {  }; body: undefined; response: WebhookDelivery };
  requestApproval: { params: {  }; query: {  }; body: BackchannelRequest; response: BackchannelAnswer };
  resolveDid: { params: { agentId: string }; query: {  }; body: undefined; response: DidResolution };
  revokeCredential: { params: { agentId: string; credentialId: string }; query: {  }; body: undefined; response: undefined };
  revokeDelegation: { params: { chainId: string }; query: {  }; body: undefined; response: undefined };
  revokeToken: { params: {  }; query: {  }; body: TokenQuestion; response: Nothing };
  rotateCredential: { params: { agentId: string; credentialId: string }; query: {  }; body: CredentialRotation; response: CredentialWithSecret };
  rotateWebhookSecret: { params: { id: string }; query: {  }; body: WebhookSecretRotation; response: WebhookSubscriptionWithSecret };
  scaffoldAgent: { params: { agentId: string }; query: { language?: "typescript" | "python" | "go" | "java" | "rust" | undefined }; body: undefined; response: globalThis.Response };
  searchMarketplace: { params: {  }; query: { page?: number | undefined; limit?: number | undefined; q?: string | undefined; capability?: string | undefined; agentType?: "screener" | "classifier" | "orchestrator" | "extractor" | "summarizer" | "router" | "monitor" | "custom" | undefined; category?: string | undefined; verified?: "true" | "false" | undefined }; body: undefined; response: ListingPage };
  setSignalStreamStatus: { params: {  }; query: {  }; body: SignalStreamStatusChange; response: SignalStreamStatus };
  ssfConfiguration: { params: {  }; query: {  }; body: undefined; response: Record<string, unknown> };
  startCheckout: { params: {  }; query: {  }; body: NewCheckout; response: Checkout };
  streamEvents: { params: {  }; query: { action?: string | undefined; lastEventId?: string | undefined }; body: undefined; response: globalThis.Response };
  testTrustPolicy: { params: { policyId: string }; query: {  }; body: TestedToken; response: TrustTest };
  testWebhook: { params: { id: string }; query: {  }; body: undefined; response: WebhookDelivery };
  trustPartner: { params: {  }; query: {  }; body: NewFederationPartner; response: FederationPartner };
  updateAgent: { params: { agentId: string }; query: {  }; body: AgentChange; response: Agent };
  updateConnection: { params: { orgId: string; connectionId: string }; query: {  }; body: ConnectionChange; response: Connection };
  updateListing: { params: { listingId: string }; query: {  }; body: ListingChange; response: Listing };
  updateMember: { params: { orgId: string; agentId: string }; query: {  }; body: MemberChange; response: Membership };
  updateOrganization: { params: { orgId: string }; query: {  }; body: OrganizationChange; response: Organization };
  updatePartner: { params: { id: string }; query: {  }; body: FederationPartnerChange; response: FederationPartner };
  updatePerson: { params: { orgId: string; personId: string }; query: {  }; body: PersonChange; response: Person };
  updateResource: { params: { resourceId: string }; query: {  }; body: ResourceChange; response: Resource };
  updateSignalStream: { params: {  }; query: {  }; body: SignalStreamChange; response: SignalStream };
  updateTrustPolicy: { params: { policyId: string }; query: {  }; body: TrustPolicyChange; response: TrustPolicy };
  updateWebhook: { params: { id: string }; query: {  }; body: WebhookSubscriptionChange; response: WebhookSubscription };
  upgradeTier: { params: {  }; query: {  }; body: TierUpgrade; response: TierCheckout };
  verifyAudit: { params: {  }; query: { fromDate?: string | undefined; toDate?: string | undefined; organizationId?: string | undefined }; body: undefined; response: AuditVerification };
  verifyDelegation: { params: {  }; query: {  }; body: DelegationQuestion; response: VerifiedDelegation };
  verifyPartnerToken: { params: {  }; query: {  }; body: PartnerToken; response: PartnerTokenVerification };
  verifyResource: { params: { resourceId: string }; query: {  }; body: ResourceVerificationRequest; response: Resource };
  verifySignalStream: { params: {  }; query: {  }; body: SignalVerification; response: undefined };
}

export type OperationId = keyof Operations;

export interface OperationEntry {
  readonly method: string;
  readonly path: string;
  /** The scopes that the operation needs. Empty when every access token will do. Absent when it needs no token. */
  readonly scopes?: readonly string[];
  /** The body is a form. Otherwise it is JSON. */
  readonly form?: true;
  /** The answer is no JSON: an archive, an export or a stream of events. */
  readonly stream?: true;
  /** The server repeats its answer for the same Idempotency-Key. */
  readonly idempotencyKey?: true;
}

export const operations: Readonly<Record<OperationId, OperationEntry>> = {
  acceptShare: { method: 'POST', path: '/api/v1/shares/{resourceId}/accept', scopes: [] },
  addMember: { method: 'POST', path: '/api/v1/organizations/{orgId}/members', scopes: [] },
  addSignalSubject: { method: 'POST', path: '/api/v1/ssf/subjects/add', scopes: ["tokens:read"] },
  authorizationServer: { method: 'GET', path: '/.well-known/oauth-authorization-server' },
  cancelApproval: { method: 'DELETE', path: '/api/v1/approvals/{approvalId}', scopes: [] },
  cancelSubscription: { method: 'DELETE', path: '/api/v1/billing/subscription', scopes: [] },
  countWebhookDeliveries: { method: 'GET', path: '/api/v1/webhooks/{id}/deliveries/counts', scopes: ["webhooks:read"] },
  createAgent: { method: 'POST', path: '/api/v1/agents', scopes: ["agents:write"], idempotencyKey: true },
  createConnection: { method: 'POST', path: '/api/v1/organizations/{orgId}/connections', scopes: [], idempotencyKey: true },
  createConsoleLink: { method: 'POST', path: '/api/v1/console/links', scopes: [] },
  createDelegation: { method: 'POST', path: '/api/v1/delegations', scopes: [], idempotencyKey: true },
  createListing: { method: 'POST', path: '/api/v1/marketplace/listings', scopes: ["agents:write"] },
  createOrganization: { method: 'POST', path: '/api/v1/organizations', scopes: [], idempotencyKey: true },
  createResource: { method: 'POST', path: '/api/v1/resources', scopes: ["resources:write"], idempotencyKey: true },
  createSignalStream: { method: 'POST', path: '/api/v1/ssf/stream', scopes: ["tokens:read"] },
  createTrustPolicy: { method: 'POST', path: '/api/v1/oidc/trust-policies', scopes: ["agents:write"] },
  createWebhook: { method: 'POST', path: '/api/v1/webhooks', scopes: ["webhooks:write"], idempotencyKey: true },
  declineShare: { method: 'DELETE', path: '/api/v1/shares/{resourceId}', scopes: [] },
  decommissionAgent: { method: 'DELETE', path: '/api/v1/agents/{agentId}', scopes: ["agents:write"] },
  deleteAgentGrant: { method: 'DELETE', path: '/api/v1/agents/{agentId}/grants/{resourceId}', scopes: ["agents:write"] },
  deleteConnection: { method: 'DELETE', path: '/api/v1/organizations/{orgId}/connections/{connectionId}', scopes: [] },
  deleteListing: { method: 'DELETE', path: '/api/v1/marketplace/listings/{listingId}', scopes: ["agents:write"] },
  deleteOrganization: { method: 'DELETE', path: '/api/v1/organizations/{orgId}', scopes: [] },
  deleteResource: { method: 'DELETE', path: '/api/v1/resources/{resourceId}', scopes: ["resources:write"] },
  deleteResourceShare: { method: 'DELETE', path: '/api/v1/resources/{resourceId}/shares/{organizationId}', scopes: ["resources:write"] },
  deleteSignalStream: { method: 'DELETE', path: '/api/v1/ssf/stream', scopes: ["tokens:read"] },
  deleteTrustPolicy: { method: 'DELETE', path: '/api/v1/oidc/trust-policies/{policyId}', scopes: ["agents:write"] },
  deleteWebhook: { method: 'DELETE', path: '/api/v1/webhooks/{id}', scopes: ["webhooks:write"] },
  exchangeOutsideToken: { method: 'POST', path: '/api/v1/oidc/token', form: true },
  exportAgentCards: { method: 'GET', path: '/api/v1/compliance/agent-cards', scopes: [] },
  exportAudit: { method: 'GET', path: '/api/v1/audit/export', scopes: ["audit:read"], stream: true },
  exportUsage: { method: 'GET', path: '/api/v1/usage/export', scopes: [], stream: true },
  forwardAuth: { method: 'GET', path: '/api/v1/forward-auth' },
  generateCredential: { method: 'POST', path: '/api/v1/agents/{agentId}/credentials', scopes: ["agents:write"], idempotencyKey: true },
  getA2aCard: { method: 'GET', path: '/agents/{agentId}/.well-known/agent-card.json' },
  getActivityAnalytics: { method: 'GET', path: '/api/v1/analytics/agents/activity', scopes: [] },
  getAgent: { method: 'GET', path: '/api/v1/agents/{agentId}', scopes: ["agents:read"] },
  getAgentAccess: { method: 'GET', path: '/api/v1/agents/{agentId}/access', scopes: ["agents:read"] },
  getAgentAnalytics: { method: 'GET', path: '/api/v1/analytics/agents', scopes: [] },
  getAgentCard: { method: 'GET', path: '/api/v1/agents/{agentId}/did/card' },
  getAgentKeys: { method: 'GET', path: '/api/v1/agents/{agentId}/keys', scopes: ["agents:read"] },
  getApproval: { method: 'GET', path: '/api/v1/approvals/{approvalId}', scopes: [] },
  getApprovalAnalytics: { method: 'GET', path: '/api/v1/analytics/approvals', scopes: [] },
  getApprovalPolicy: { method: 'GET', path: '/api/v1/organizations/{orgId}/approval-policy', scopes: [] },
  getAuditArchive: { method: 'GET', path: '/api/v1/audit/archives/{date}', scopes: ["audit:read"], stream: true },
  getAuditChain: { method: 'GET', path: '/api/v1/audit/chain', scopes: ["audit:read"] },
  getAuditEvent: { method: 'GET', path: '/api/v1/audit/{eventId}', scopes: ["audit:read"] },
  getClientPolicy: { method: 'GET', path: '/api/v1/organizations/{orgId}/client-policy', scopes: [] },
  getComplianceReport: { method: 'GET', path: '/api/v1/compliance/report', scopes: [] },
  getConnection: { method: 'GET', path: '/api/v1/organizations/{orgId}/connections/{connectionId}', scopes: [] },
  getControls: { method: 'GET', path: '/api/v1/compliance/controls' },
  getDelegation: { method: 'GET', path: '/api/v1/delegations/{chainId}', scopes: [] },
  getDid: { method: 'GET', path: '/api/v1/agents/{agentId}/did' },
  getDidAtRoot: { method: 'GET', path: '/agents/{agentId}/did.json' },
  getInstance: { method: 'GET', path: '/api/v1/instance', scopes: ["admin:orgs"] },
  getListing: { method: 'GET', path: '/api/v1/marketplace/listings/{listingId}', scopes: ["agents:read"] },
  getMarketplaceAgent: { method: 'GET', path: '/api/v1/marketplace/agents/{listingId}' },
  getOrganization: { method: 'GET', path: '/api/v1/organizations/{orgId}', scopes: [] },
  getOverview: { method: 'GET', path: '/api/v1/overview', scopes: ["agents:read"] },
  getPartner: { method: 'GET', path: '/api/v1/federation/partners/{id}', scopes: [] },
  getResource: { method: 'GET', path: '/api/v1/resources/{resourceId}', scopes: ["resources:read"] },
  getSignalStream: { method: 'GET', path: '/api/v1/ssf/stream', scopes: ["tokens:read"] },
  getSignalStreamStatus: { method: 'GET', path: '/api/v1/ssf/status', scopes: ["tokens:read"] },
  getSubscription: { method: 'GET', path: '/api/v1/billing/subscription', scopes: [] },
  getTierStatus: { method: 'GET', path: '/api/v1/tiers/status', scopes: [] },
  getTokenAnalytics: { method: 'GET', path: '/api/v1/analytics/tokens', scopes: [] },
  getTrustPolicy: { method: 'GET', path: '/api/v1/oidc/trust-policies/{policyId}', scopes: ["agents:read"] },
  getUsage: { method: 'GET', path: '/api/v1/usage', scopes: [] },
  getUsageLimits: { method: 'GET', path: '/api/v1/usage/limits', scopes: [] },
  getWebhook: { method: 'GET', path: '/api/v1/webhooks/{id}', scopes: ["webhooks:read"] },
  getWebhookDelivery: { method: 'GET', path: '/api/v1/webhooks/{id}/deliveries/{deliveryId}', scopes: ["webhooks:read"] },
  health: { method: 'GET', path: '/health' },
  instanceDid: { method: 'GET', path: '/.well-known/did.json' },
  introspectToken: { method: 'POST', path: '/api/v1/token/introspect', scopes: ["tokens:read"], form: true },
  invitePerson: { method: 'POST', path: '/api/v1/organizations/{orgId}/people', scopes: [] },
  issueIdToken: { method: 'POST', path: '/api/v1/oidc/id-token', scopes: [], form: true },
  issueToken: { method: 'POST', path: '/api/v1/token', form: true },
  jwks: { method: 'GET', path: '/.well-known/jwks.json' },
  listAgentGrants: { method: 'GET', path: '/api/v1/agents/{agentId}/grants', scopes: ["agents:read"] },
  listAgents: { method: 'GET', path: '/api/v1/agents', scopes: ["agents:read"] },
  listApprovals: { method: 'GET', path: '/api/v1/approvals', scopes: ["audit:read"] },
  listAuditArchives: { method: 'GET', path: '/api/v1/audit/archives', scopes: ["audit:read"] },
  listAuditCheckpoints: { method: 'GET', path: '/api/v1/audit/checkpoints', scopes: ["audit:read"] },
  listAuditEvents: { method: 'GET', path: '/api/v1/audit', scopes: ["audit:read"] },
  listAuditKeys: { method: 'GET', path: '/api/v1/audit/keys', scopes: ["audit:read"] },
  listAuditWitnesses: { method: 'GET', path: '/api/v1/audit/witnesses', scopes: ["audit:read"] },
  listConnections: { method: 'GET', path: '/api/v1/organizations/{orgId}/connections', scopes: [] },
  listCredentials: { method: 'GET', path: '/api/v1/agents/{agentId}/credentials', scopes: ["agents:read"] },
  listDelegationDescendants: { method: 'GET', path: '/api/v1/delegations/{chainId}/descendants', scopes: [] },
  listDelegations: { method: 'GET', path: '/api/v1/delegations', scopes: [] },
  listListings: { method: 'GET', path: '/api/v1/marketplace/listings', scopes: ["agents:read"] },
  listMembers: { method: 'GET', path: '/api/v1/organizations/{orgId}/members', scopes: [] },
  listOrganizations: { method: 'GET', path: '/api/v1/organizations', scopes: [] },
  listPartners: { method: 'GET', path: '/api/v1/federation/partners', scopes: [] },
  listPeople: { method: 'GET', path: '/api/v1/organizations/{orgId}/people', scopes: [] },
  listReceivedShares: { method: 'GET', path: '/api/v1/shares', scopes: ["resources:read"] },
  listResourceGrants: { method: 'GET', path: '/api/v1/resources/{resourceId}/grants', scopes: ["resources:read"] },
  listResourceShares: { method: 'GET', path: '/api/v1/resources/{resourceId}/shares', scopes: ["resources:write"] },
  listResources: { method: 'GET', path: '/api/v1/resources', scopes: ["resources:read"] },
  listTrustPolicies: { method: 'GET', path: '/api/v1/oidc/trust-policies', scopes: ["agents:read"] },
  listUsageByAgent: { method: 'GET', path: '/api/v1/usage/agents', scopes: [] },
  listWebhookDeliveries: { method: 'GET', path: '/api/v1/webhooks/{id}/deliveries', scopes: ["webhooks:read"] },
  listWebhooks: { method: 'GET', path: '/api/v1/webhooks', scopes: ["webhooks:read"] },
  livez: { method: 'GET', path: '/livez' },
  logCheckpoint: { method: 'GET', path: '/log/checkpoint', stream: true },
  logKey: { method: 'GET', path: '/log/key', stream: true },
  metrics: { method: 'GET', path: '/metrics', stream: true },
  openBillingPortal: { method: 'POST', path: '/api/v1/billing/portal', scopes: [] },
  openapi: { method: 'GET', path: '/openapi.json' },
  openidConfiguration: { method: 'GET', path: '/.well-known/openid-configuration' },
  pollSignals: { method: 'POST', path: '/api/v1/ssf/poll/{streamId}', scopes: ["tokens:read"] },
  previewToken: { method: 'POST', path: '/api/v1/tokens/preview', scopes: ["agents:read"] },
  product: { method: 'GET', path: '/' },
  protectedMcpServer: { method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' },
  protectedResource: { method: 'GET', path: '/.well-known/oauth-protected-resource' },
  putAgentGrant: { method: 'PUT', path: '/api/v1/agents/{agentId}/grants/{resourceId}', scopes: ["agents:write"] },
  putAgentKeys: { method: 'PUT', path: '/api/v1/agents/{agentId}/keys', scopes: ["agents:write"] },
  putApprovalPolicy: { method: 'PUT', path: '/api/v1/organizations/{orgId}/approval-policy', scopes: [] },
  putClientPolicy: { method: 'PUT', path: '/api/v1/organizations/{orgId}/client-policy', scopes: [] },
  putResourceShare: { method: 'PUT', path: '/api/v1/resources/{resourceId}/shares/{organizationId}', scopes: ["resources:write"] },
  readyz: { method: 'GET', path: '/readyz' },
  receiveBillingEvent: { method: 'POST', path: '/api/v1/billing/webhooks/stripe' },
  removeMember: { method: 'DELETE', path: '/api/v1/organizations/{orgId}/members/{agentId}', scopes: [] },
  removePartner: { method: 'DELETE', path: '/api/v1/federation/partners/{id}', scopes: [] },
  removePerson: { method: 'DELETE', path: '/api/v1/organizations/{orgId}/people/{personId}', scopes: [] },
  removeSignalSubject: { method: 'POST', path: '/api/v1/ssf/subjects/remove', scopes: ["tokens:read"] },
  replaceSignalStream: { method: 'PUT', path: '/api/v1/ssf/stream', scopes: ["tokens:read"] },
  replayWebhookDeliveries: { method: 'POST', path: '/api/v1/webhooks/{id}/deliveries/replay', scopes: ["webhooks:write"] },
  replayWebhookDelivery: { method: 'POST', path: '/api/v1/webhooks/{id}/deliveries/{deliveryId}/replay', scopes: ["webhooks:write"] },
  requestApproval: { method: 'POST', path: '/api/v1/bc-authorize', form: true },
  resolveDid: { method: 'GET', path: '/api/v1/agents/{agentId}/did/resolve', scopes: [] },
  revokeCredential: { method: 'DELETE', path: '/api/v1/agents/{agentId}/credentials/{credentialId}', scopes: ["agents:write"] },
  revokeDelegation: { method: 'DELETE', path: '/api/v1/delegations/{chainId}', scopes: [] },
  revokeToken: { method: 'POST', path: '/api/v1/token/revoke', scopes: [], form: true },
  rotateCredential: { method: 'POST', path: '/api/v1/agents/{agentId}/credentials/{credentialId}/rotate', scopes: ["agents:write"] },
  rotateWebhookSecret: { method: 'POST', path: '/api/v1/webhooks/{id}/rotate-secret', scopes: ["webhooks:write"] },
  scaffoldAgent: { method: 'GET', path: '/api/v1/sdk/scaffold/{agentId}', scopes: [], stream: true },
  searchMarketplace: { method: 'GET', path: '/api/v1/marketplace/agents' },
  setSignalStreamStatus: { method: 'POST', path: '/api/v1/ssf/status', scopes: ["tokens:read"] },
  ssfConfiguration: { method: 'GET', path: '/.well-known/ssf-configuration' },
  startCheckout: { method: 'POST', path: '/api/v1/billing/checkout', scopes: [] },
  streamEvents: { method: 'GET', path: '/api/v1/events', scopes: ["audit:read"], stream: true },
  testTrustPolicy: { method: 'POST', path: '/api/v1/oidc/trust-policies/{policyId}/test', scopes: ["agents:read"] },
  testWebhook: { method: 'POST', path: '/api/v1/webhooks/{id}/test', scopes: ["webhooks:write"] },
  trustPartner: { method: 'POST', path: '/api/v1/federation/trust', scopes: [] },
  updateAgent: { method: 'PATCH', path: '/api/v1/agents/{agentId}', scopes: ["agents:write"] },
  updateConnection: { method: 'PATCH', path: '/api/v1/organizations/{orgId}/connections/{connectionId}', scopes: [] },
  updateListing: { method: 'PATCH', path: '/api/v1/marketplace/listings/{listingId}', scopes: ["agents:write"] },
  updateMember: { method: 'PATCH', path: '/api/v1/organizations/{orgId}/members/{agentId}', scopes: [] },
  updateOrganization: { method: 'PATCH', path: '/api/v1/organizations/{orgId}', scopes: [] },
  updatePartner: { method: 'PATCH', path: '/api/v1/federation/partners/{id}', scopes: [] },
  updatePerson: { method: 'PATCH', path: '/api/v1/organizations/{orgId}/people/{personId}', scopes: [] },
  updateResource: { method: 'PATCH', path: '/api/v1/resources/{resourceId}', scopes: ["resources:write"] },
  updateSignalStream: { method: 'PATCH', path: '/api/v1/ssf/stream', scopes: ["tokens:read"] },
  updateTrustPolicy: { method: 'PATCH', path: '/api/v1/oidc/trust-policies/{policyId}', scopes: ["agents:write"] },
  updateWebhook: { method: 'PATCH', path: '/api/v1/webhooks/{id}', scopes: ["webhooks:write"] },
  upgradeTier: { method: 'POST', path: '/api/v1/tiers/upgrade', scopes: [] },
  verifyAudit: { method: 'GET', path: '/api/v1/audit/verify', scopes: ["audit:read"] },
  verifyDelegation: { method: 'POST', path: '/api/v1/delegations/verify', scopes: [] },
  verifyPartnerToken: { method: 'POST', path: '/api/v1/federation/verify', scopes: [] },
  verifyResource: { method: 'POST', path: '/api/v1/resources/{resourceId}/verify', scopes: ["resources:write"] },
  verifySignalStream: { method: 'POST', path: '/api/v1/ssf/verify', scopes: ["tokens:read"] },
};
