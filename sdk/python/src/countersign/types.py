"""The types of the API: parameters and answers of the methods of `Client.api`.

Generated from the API description by `npm run openapi`; do not edit.
"""

import sys
from typing import Any, Literal, TypeAlias

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict


class A2aAgentCardSupportedInterfaces(TypedDict):
    url: str
    protocolBinding: str
    protocolVersion: str


class A2aAgentCardProvider(TypedDict):
    organization: str
    url: str


class A2aAgentCardCapabilitiesExtensionsParams(TypedDict):
    did: str
    identityProvider: str
    organizationId: str
    owner: str


class A2aAgentCardCapabilitiesExtensions(TypedDict):
    uri: str
    description: str
    params: A2aAgentCardCapabilitiesExtensionsParams


class A2aAgentCardCapabilities(TypedDict):
    extensions: list[A2aAgentCardCapabilitiesExtensions]


class A2aAgentCardSkills(TypedDict):
    id: str
    name: str
    description: str
    tags: list[str]


class A2aAgentCardSignatures(TypedDict):
    protected: str
    signature: str


class A2aAgentCard(TypedDict):
    name: str
    description: str
    supportedInterfaces: list[A2aAgentCardSupportedInterfaces]
    provider: A2aAgentCardProvider
    version: str
    capabilities: A2aAgentCardCapabilities
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[A2aAgentCardSkills]
    signatures: NotRequired[list[A2aAgentCardSignatures]]


AuthorizationDetail: TypeAlias = dict[str, Any]


class AccessTokenResponse(TypedDict):
    access_token: str
    token_type: Literal["Bearer", "DPoP", "N_A"]
    expires_in: int
    scope: str
    issued_token_type: NotRequired[str]
    refresh_token: NotRequired[str]
    authorization_details: NotRequired[list[AuthorizationDetail]]


class AddedSignalSubject(TypedDict):
    stream_id: str
    subject: dict[str, Any]
    verified: NotRequired[bool]


class Agent(TypedDict):
    agentId: str
    organizationId: str
    email: str
    displayName: str | None
    agentType: Literal[
        "screener",
        "classifier",
        "orchestrator",
        "extractor",
        "summarizer",
        "router",
        "monitor",
        "custom",
    ]
    version: str
    capabilities: list[str]
    owner: str
    deploymentEnv: Literal["development", "staging", "production"]
    labels: dict[str, str]
    status: Literal["active", "suspended", "decommissioned"]
    allowedScopes: list[str]
    rateLimitPerMinute: int | None
    redirectUris: list[str]
    publicClient: bool
    clientUri: str | None
    notificationUri: str | None
    dpopBoundAccessTokens: bool
    createdAt: str
    updatedAt: str


class Grant(TypedDict):
    agentId: str
    resourceId: str
    identifier: str
    scopes: list[str]
    grantedBy: str
    createdAt: str
    updatedAt: str


class DelegatedAccess(TypedDict):
    chainId: str
    subjectType: Literal["agent", "person"]
    subjectId: str
    delegatorType: Literal["agent", "person"]
    delegatorId: str
    audiences: list[str]
    scopes: list[str]
    expiresAt: str


class PolicyResourceAccess(TypedDict):
    identifier: str
    scopes: list[str]


class PolicyAccess(TypedDict):
    policyId: str
    name: str
    issuer: str
    subject: str | None
    scopes: list[str]
    resources: list[PolicyResourceAccess]
    actsAsAdmin: bool


class AgentAccess(TypedDict):
    agentId: str
    active: bool
    inactiveReason: str | None
    role: Literal["admin", "member"] | None
    own: list[str]
    grants: list[Grant]
    delegated: list[DelegatedAccess]
    trustPolicies: list[PolicyAccess]
    truncated: bool


class AgentActivityData(TypedDict):
    dow: int
    hour: int
    count: int


class AgentActivity(TypedDict):
    tenantId: str
    data: list[AgentActivityData]


AgentBadge = TypedDict(
    "AgentBadge",
    {
        "@context": str,
        "id": str,
        "type": Literal["EnvelopedVerifiableCredential"],
    },
)


class AgentCard(TypedDict):
    did: str
    name: str
    agentType: str
    capabilities: list[str]
    owner: str
    version: str
    deploymentEnv: str
    identityProvider: str
    issuedAt: str


class AgentChange(TypedDict):
    agentType: NotRequired[
        Literal[
            "screener",
            "classifier",
            "orchestrator",
            "extractor",
            "summarizer",
            "router",
            "monitor",
            "custom",
        ]
    ]
    version: NotRequired[str]
    capabilities: NotRequired[list[str]]
    owner: NotRequired[str]
    deploymentEnv: NotRequired[Literal["development", "staging", "production"]]
    displayName: NotRequired[str | None]
    labels: NotRequired[dict[str, str]]
    status: NotRequired[Literal["active", "suspended", "decommissioned"]]
    allowedScopes: NotRequired[
        list[
            Literal[
                "agents:read",
                "agents:write",
                "tokens:read",
                "audit:read",
                "webhooks:read",
                "webhooks:write",
                "resources:read",
                "resources:write",
                "admin:orgs",
            ]
        ]
    ]
    rateLimitPerMinute: NotRequired[int | None]
    redirectUris: NotRequired[list[str]]
    publicClient: NotRequired[bool]
    notificationUri: NotRequired[str | None]
    dpopBoundAccessTokens: NotRequired[bool]


class ListedAgent(TypedDict):
    agentId: str
    organizationId: str
    email: str
    displayName: str | None
    agentType: Literal[
        "screener",
        "classifier",
        "orchestrator",
        "extractor",
        "summarizer",
        "router",
        "monitor",
        "custom",
    ]
    version: str
    capabilities: list[str]
    owner: str
    deploymentEnv: Literal["development", "staging", "production"]
    labels: dict[str, str]
    status: Literal["active", "suspended", "decommissioned"]
    allowedScopes: list[str]
    rateLimitPerMinute: int | None
    redirectUris: list[str]
    publicClient: bool
    clientUri: str | None
    notificationUri: str | None
    dpopBoundAccessTokens: bool
    createdAt: str
    updatedAt: str
    lastTokenDate: NotRequired[str | None]
    secretExpiresAt: NotRequired[str | None]
    grantedApis: NotRequired[int]


class AgentPage(TypedDict):
    data: list[ListedAgent]
    total: int
    page: int
    limit: int


class AgentUsageTotals(TypedDict):
    """For each requested metric, zero included."""

    api_calls: NotRequired[int]
    tokens_issued: NotRequired[int]
    token_exchanges: NotRequired[int]
    delegations_created: NotRequired[int]
    webhook_deliveries: NotRequired[int]
    introspections: NotRequired[int]


class AgentUsage(TypedDict):
    agentId: str
    totals: AgentUsageTotals


class AgentUsagePage(TypedDict):
    data: list[AgentUsage]
    total: int
    page: int
    limit: int


class ApprovalResource(TypedDict):
    identifier: str
    name: str


class ApprovalApprovals(TypedDict):
    personId: str
    at: str


class Approval(TypedDict):
    approvalId: str
    organizationId: str
    agentId: str
    resource: ApprovalResource
    scopes: list[str]
    authorizationDetails: list[AuthorizationDetail] | None
    bindingMessage: str | None
    requestedFor: Literal["person", "approvers"]
    personId: str | None
    accessExpiresIn: int
    status: Literal["pending", "approved", "denied", "expired", "canceled"]
    requiredApprovals: int
    approvals: list[ApprovalApprovals]
    decidedBy: str | None
    decidedAt: str | None
    chainId: str | None
    createdAt: str
    expiresAt: str


class ApprovalPage(TypedDict):
    data: list[Approval]
    total: int
    page: int
    limit: int


class ApprovalPolicy(TypedDict):
    maxAccessSeconds: int
    selfApproval: bool
    requireTwo: list[str]


class ApprovalPolicyChange(TypedDict):
    maxAccessSeconds: NotRequired[int]
    selfApproval: NotRequired[bool]
    requireTwo: NotRequired[list[str]]


class ApprovalsByAgentData(TypedDict):
    agentId: str
    pending: int
    approved: int
    denied: int
    expired: int
    canceled: int


class ApprovalsByAgent(TypedDict):
    tenantId: str
    days: int
    data: list[ApprovalsByAgentData]
    total: int
    page: int
    limit: int


class AuditAnchor(TypedDict):
    number: int
    time: str
    signed: str


class AuditArchive(TypedDict):
    date: str
    events: int
    bytes: int
    sha256: str
    chainHead: str
    createdAt: str


class AuditArchivePage(TypedDict):
    data: list[AuditArchive]
    total: int
    page: int
    limit: int


class AuditChainEvent(TypedDict):
    canonical: str
    appendedIn: str
    seal: str
    columns: str | None


class AuditLink(TypedDict):
    sequence: int
    eventId: str
    time: str
    eventHash: str
    hash: str
    event: AuditChainEvent | None


class AuditCheckpointInclusion(TypedDict):
    """Where the checkpoint is in the Merkle tree that was signed; keep it with `signed`."""

    checkpoint: str
    treeHead: int
    treeSize: int
    leafIndex: int
    proof: list[str]


class AuditChainCheckpoint(TypedDict):
    number: int
    size: int
    headHash: str
    time: str
    keyId: str
    signed: str
    inclusion: AuditCheckpointInclusion | None
    previous: str | None
    linkedOn: str


class AuditChain(TypedDict):
    organizationId: str
    size: int
    startsAfter: int
    anchor: AuditAnchor | None
    inconsistentLinks: bool
    links: list[AuditLink]
    checkpoints: list[AuditChainCheckpoint]


class AuditCheckpoint(TypedDict):
    number: int
    size: int
    headHash: str
    time: str
    keyId: str
    signed: str
    inclusion: AuditCheckpointInclusion | None


class AuditCheckpointPage(TypedDict):
    data: list[AuditCheckpoint]
    total: int
    page: int
    limit: int


class AuditEvent(TypedDict):
    eventId: str
    agentId: str
    action: str
    outcome: Literal["success", "failure"]
    ipAddress: str
    userAgent: str
    metadata: dict[str, Any]
    timestamp: str


class AuditKey(TypedDict):
    number: int
    keyId: str
    time: str
    signed: str


class AuditKeyPage(TypedDict):
    data: list[AuditKey]
    total: int
    page: int
    limit: int


class AuditPage(TypedDict):
    data: list[AuditEvent]
    total: int
    page: int
    limit: int


class Witnessed(TypedDict):
    checkpointSize: int
    time: str
    witnesses: list[str]


class AuditVerification(TypedDict):
    verified: bool
    checkedCount: int
    fromDate: str | None
    toDate: str | None
    witnessed: Witnessed | None


class AuditWitness(TypedDict):
    name: str
    verifierKey: str
    checkpointSize: int | None
    time: str | None
    failing: str | None


class AuditWitnesses(TypedDict):
    quorum: int | None
    witnessed: Witnessed | None
    witnesses: list[AuditWitness]
    logKey: str | None


class AuthorizationDetailType(TypedDict):
    type: str
    description: str | None
    schema: dict[str, Any]


class BackchannelAnswer(TypedDict):
    auth_req_id: str
    approval_id: str
    expires_in: int
    interval: int


class BackchannelRequest(TypedDict):
    scope: NotRequired[str]
    resource: NotRequired[str]
    login_hint: NotRequired[str]
    binding_message: NotRequired[str]
    authorization_details: NotRequired[str]
    requested_expiry: NotRequired[str]
    access_expires_in: NotRequired[str]
    client_notification_token: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


class BillingEventReceipt(TypedDict):
    received: Literal[True]
    outcome: Literal["applied", "repeated", "late", "ignored", "unknown"]


class Checkout(TypedDict):
    checkoutUrl: str
    sessionId: str
    expiresAt: str


class ClientPolicy(TypedDict):
    mode: Literal["any", "domains", "approval", "off"]
    domains: list[str]


class ClientPolicyChange(TypedDict):
    mode: Literal["any", "domains", "approval", "off"]
    domains: NotRequired[list[str]]


class ReportedApprovalsData(TypedDict):
    approvalId: str
    agentId: str
    resource: str
    scopes: list[str]
    status: Literal["pending", "approved", "denied", "expired", "canceled"]
    decidedBy: str | None
    createdAt: str
    decidedAt: str | None


class ReportedApprovals(TypedDict):
    """Requests for the approval of people, of the last 90 days, by their outcome."""

    since: str
    pending: int
    approved: int
    denied: int
    expired: int
    canceled: int
    data: list[ReportedApprovalsData] | None


class ComplianceReport(TypedDict):
    tenantId: str
    generatedAt: str
    agntcyConformance: bool
    agentCount: int
    writingAgentCount: int
    verifiedAgentCount: int
    auditChainIntegrity: bool
    approvals: ReportedApprovals
    from_cache: bool


class TrustCondition(TypedDict):
    claim: str
    operator: Literal["equals", "in", "glob", "exists"]
    values: NotRequired[list[str]]


class Connection(TypedDict):
    connectionId: str
    organizationId: str
    name: str
    issuer: str
    clientId: str
    scopes: list[str]
    conditions: list[TrustCondition]
    status: Literal["active", "disabled"]
    idJag: bool
    createdAt: str
    updatedAt: str


class ConnectionChange(TypedDict):
    name: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]
    scopes: NotRequired[list[str]]
    conditions: NotRequired[list[TrustCondition]]
    status: NotRequired[Literal["active", "disabled"]]
    idJag: NotRequired[bool]


class ConnectionPage(TypedDict):
    data: list[Connection]
    total: int
    page: int
    limit: int


class ConsoleLink(TypedDict):
    url: str
    code: str
    expiresAt: str


class CreatedDelegation(TypedDict):
    chainId: str
    parentChainId: str | None
    rootChainId: str
    depth: int
    subjectType: Literal["agent", "person"]
    subjectId: str
    delegatorType: Literal["agent", "person"]
    delegatorId: str
    delegateeId: str
    scopes: list[str]
    resource: list[str] | None
    purpose: str | None
    allowRedelegation: bool
    origin: Literal["api", "consent", "approval", "assertion", "console"]
    authorizationDetails: list[AuthorizationDetail] | None
    status: Literal["active", "expired", "revoked"]
    createdAt: str
    expiresAt: str
    revokedAt: str | None
    delegationToken: str


class Credential(TypedDict):
    credentialId: str
    clientId: str
    name: str | None
    status: Literal["active", "revoked"]
    createdAt: str
    expiresAt: str | None
    revokedAt: str | None
    lastUsedAt: str | None


class CredentialPage(TypedDict):
    data: list[Credential]
    total: int
    page: int
    limit: int


class CredentialRotation(TypedDict):
    expiresAt: NotRequired[str | None]


class CredentialWithSecret(TypedDict):
    credentialId: str
    clientId: str
    name: str | None
    status: Literal["active", "revoked"]
    createdAt: str
    expiresAt: str | None
    revokedAt: str | None
    lastUsedAt: str | None
    clientSecret: str


class DelegationChain(TypedDict):
    chainId: str
    parentChainId: str | None
    rootChainId: str
    depth: int
    subjectType: Literal["agent", "person"]
    subjectId: str
    delegatorType: Literal["agent", "person"]
    delegatorId: str
    delegateeId: str
    scopes: list[str]
    resource: list[str] | None
    purpose: str | None
    allowRedelegation: bool
    origin: Literal["api", "consent", "approval", "assertion", "console"]
    authorizationDetails: list[AuthorizationDetail] | None
    status: Literal["active", "expired", "revoked"]
    createdAt: str
    expiresAt: str
    revokedAt: str | None


class DelegationPage(TypedDict):
    data: list[DelegationChain]
    total: int
    page: int
    limit: int


class DelegationQuestion(TypedDict):
    token: str


class EffectiveDelegation(TypedDict):
    chainId: str
    parentChainId: str | None
    rootChainId: str
    depth: int
    subjectType: Literal["agent", "person"]
    subjectId: str
    delegatorType: Literal["agent", "person"]
    delegatorId: str
    delegateeId: str
    scopes: list[str]
    resource: list[str] | None
    purpose: str | None
    allowRedelegation: bool
    origin: Literal["api", "consent", "approval", "assertion", "console"]
    authorizationDetails: list[AuthorizationDetail] | None
    status: Literal["active", "expired", "revoked"]
    createdAt: str
    expiresAt: str
    revokedAt: str | None
    effectiveScopes: list[str]


class DelegationWithLinks(TypedDict):
    chainId: str
    parentChainId: str | None
    rootChainId: str
    depth: int
    subjectType: Literal["agent", "person"]
    subjectId: str
    delegatorType: Literal["agent", "person"]
    delegatorId: str
    delegateeId: str
    scopes: list[str]
    resource: list[str] | None
    purpose: str | None
    allowRedelegation: bool
    origin: Literal["api", "consent", "approval", "assertion", "console"]
    authorizationDetails: list[AuthorizationDetail] | None
    status: Literal["active", "expired", "revoked"]
    createdAt: str
    expiresAt: str
    revokedAt: str | None
    effectiveScopes: list[str]
    chain: list[EffectiveDelegation]


class DidDocumentVerificationMethodPublicKeyJwk(TypedDict):
    kty: str
    crv: NotRequired[str]
    x: NotRequired[str]
    y: NotRequired[str]
    n: NotRequired[str]
    e: NotRequired[str]
    use: NotRequired[str]
    kid: NotRequired[str]


class DidDocumentVerificationMethod(TypedDict):
    id: str
    type: str
    controller: str
    publicKeyJwk: DidDocumentVerificationMethodPublicKeyJwk


class DidDocumentService(TypedDict):
    id: str
    type: str
    serviceEndpoint: str


class DidDocumentAgntcy(TypedDict):
    agentId: str
    agentType: str
    capabilities: list[str]
    deploymentEnv: str
    owner: str
    version: str


DidDocument = TypedDict(
    "DidDocument",
    {
        "@context": list[str],
        "id": str,
        "controller": str,
        "verificationMethod": list[DidDocumentVerificationMethod],
        "authentication": list[str],
        "assertionMethod": NotRequired[list[str]],
        "service": NotRequired[list[DidDocumentService]],
        "agntcy": NotRequired[DidDocumentAgntcy],
    },
)


class DidResolutionDidDocumentMetadata(TypedDict):
    created: str
    updated: str
    deactivated: bool


class DidResolutionDidResolutionMetadata(TypedDict):
    contentType: str
    retrieved: str


class DidResolution(TypedDict):
    didDocument: DidDocument
    didDocumentMetadata: DidResolutionDidDocumentMetadata
    didResolutionMetadata: DidResolutionDidResolutionMetadata


class Error(TypedDict):
    """The body of every error, except at the token endpoints."""

    code: str
    message: str
    details: NotRequired[dict[str, Any]]


class ExchangedToken(TypedDict):
    access_token: str
    issued_token_type: str
    token_type: Literal["Bearer", "DPoP"]
    expires_in: int
    scope: str


class FederationPartner(TypedDict):
    id: str
    name: str
    issuer: str
    jwksUri: str
    idJag: bool
    createdAt: str
    updatedAt: str


class FederationPartnerChange(TypedDict):
    name: NotRequired[str]
    issuer: NotRequired[str]
    jwksUri: NotRequired[str]
    idJag: NotRequired[bool]


class GrantPage(TypedDict):
    data: list[Grant]
    total: int
    page: int
    limit: int


class HealthChecks(TypedDict):
    database: Literal["ok"]
    redis: Literal["ok", "away"]


class HealthAudit(TypedDict):
    status: Literal["ok", "delayed"]
    oldestUnlinkedSeconds: float


class Health(TypedDict):
    status: Literal["ok"]
    checks: HealthChecks
    audit: HealthAudit


class IdTokenRequest(TypedDict):
    audience: str
    ttl: NotRequired[str]


class IdTokenResponse(TypedDict):
    id_token: str
    issued_token_type: str
    expires_in: int
    audience: str


class InstanceSigningKey(TypedDict):
    keyId: str
    algorithm: str | None
    status: Literal["active", "previous", "next", "retired"]
    signsSince: str | None


class InstanceTreeHead(TypedDict):
    number: int
    time: str
    size: int
    keyId: str


class InstanceAudit(TypedDict):
    """The audit log, over all organizations."""

    linking: Literal["ok", "delayed"]
    treeHead: InstanceTreeHead | None


class InstanceSetting(TypedDict):
    name: str
    group: str
    description: str
    value: str | None
    hidden: bool
    isSet: bool


class Instance(TypedDict):
    version: str
    node: str
    startedAt: str
    signingKeys: list[InstanceSigningKey]
    audit: InstanceAudit
    configuration: list[InstanceSetting]


class IntrospectionCnf(TypedDict):
    """Of a token that is bound to a key: the RFC 7638 thumbprint of the key (RFC 9449 §6)."""

    jkt: str


class Introspection(TypedDict):
    active: bool
    sub: NotRequired[str]
    client_id: NotRequired[str]
    scope: NotRequired[str]
    token_type: NotRequired[Literal["Bearer", "DPoP"]]
    iat: NotRequired[int]
    exp: NotRequired[int]
    aud: NotRequired[str]
    iss: NotRequired[str]
    jti: NotRequired[str]
    organization_id: NotRequired[str]
    cnf: NotRequired[IntrospectionCnf]
    act: NotRequired[dict[str, Any]]
    chain_id: NotRequired[str]
    sub_profile: NotRequired[Literal["person"]]
    client_uri: NotRequired[str]
    authorization_details: NotRequired[list[AuthorizationDetail]]


class IntrospectionRequest(TypedDict):
    token: str
    token_type_hint: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


class PublicJwk(TypedDict):
    kty: Literal["RSA", "EC", "OKP"]
    kid: NotRequired[str]
    use: NotRequired[Literal["sig"]]
    alg: NotRequired[str]
    key_ops: NotRequired[list[Literal["verify"]]]
    ext: NotRequired[bool]
    crv: NotRequired[Literal["P-256", "P-384", "Ed25519"]]
    x: NotRequired[str]
    y: NotRequired[str]
    n: NotRequired[str]
    e: NotRequired[str]


class KeySet(TypedDict):
    keys: list[PublicJwk]


class ListedResourceShare(TypedDict):
    resourceId: str
    organizationId: str
    scopes: list[str]
    offeredScopes: list[str]
    status: Literal["offered", "accepted"]
    createdAt: str
    updatedAt: str
    agentCount: int


class ListingEndpoints(TypedDict):
    protocol: str
    url: str


class ListingPricing(TypedDict):
    model: str
    url: str | None


class Listing(TypedDict):
    listingId: str
    agentId: str
    organizationId: str
    organizationName: str
    organizationSlug: str
    title: str
    summary: str
    description: str
    categories: list[str]
    tags: list[str]
    capabilities: list[str]
    agentType: str
    version: str
    endpoints: list[ListingEndpoints]
    documentationUrl: str | None
    pricing: ListingPricing
    visibility: Literal["public", "organization"]
    verified: bool
    did: str
    cardUrl: str
    status: Literal["draft", "published", "suspended", "withdrawn"]
    publishedAt: str | None
    createdAt: str
    updatedAt: str


class ListingChangeEndpoints(TypedDict):
    protocol: Literal["a2a", "mcp", "http"]
    url: str


class ListingChangePricing(TypedDict):
    model: Literal["free", "contact", "external"]
    url: NotRequired[str | None]


class ListingChange(TypedDict):
    title: NotRequired[str]
    summary: NotRequired[str]
    description: NotRequired[str]
    categories: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    endpoints: NotRequired[list[ListingChangeEndpoints]]
    documentationUrl: NotRequired[str | None]
    pricing: NotRequired[ListingChangePricing]
    visibility: NotRequired[Literal["public", "organization"]]
    status: NotRequired[Literal["draft", "published", "suspended", "withdrawn"]]


class ListingPage(TypedDict):
    data: list[Listing]
    total: int
    page: int
    limit: int


class MemberChange(TypedDict):
    role: NotRequired[Literal["member", "admin"]]


class Membership(TypedDict):
    memberId: str
    organizationId: str
    agentId: str
    role: Literal["member", "admin"]
    joinedAt: str


class MembershipPage(TypedDict):
    data: list[Membership]
    total: int
    page: int
    limit: int


class NewAgent(TypedDict):
    email: str
    agentType: Literal[
        "screener",
        "classifier",
        "orchestrator",
        "extractor",
        "summarizer",
        "router",
        "monitor",
        "custom",
    ]
    version: str
    capabilities: list[str]
    owner: str
    deploymentEnv: Literal["development", "staging", "production"]
    displayName: NotRequired[str | None]
    labels: NotRequired[dict[str, str]]
    organization_id: NotRequired[str]
    allowedScopes: NotRequired[
        list[
            Literal[
                "agents:read",
                "agents:write",
                "tokens:read",
                "audit:read",
                "webhooks:read",
                "webhooks:write",
                "resources:read",
                "resources:write",
                "admin:orgs",
            ]
        ]
    ]
    rateLimitPerMinute: NotRequired[int | None]
    redirectUris: NotRequired[list[str]]
    publicClient: NotRequired[bool]
    notificationUri: NotRequired[str | None]
    dpopBoundAccessTokens: NotRequired[bool]


class NewAuthorizationDetailType(TypedDict):
    type: str
    description: NotRequired[str | None]
    schema: dict[str, Any]


class NewCheckout(TypedDict):
    target_tier: Literal["pro", "enterprise"]
    organization_id: NotRequired[str]


class NewConnection(TypedDict):
    name: str
    issuer: str
    clientId: str
    clientSecret: str
    scopes: NotRequired[list[str]]
    conditions: NotRequired[list[TrustCondition]]
    idJag: NotRequired[bool]


class NewCredential(TypedDict):
    expiresAt: NotRequired[str | None]
    name: NotRequired[str | None]


class NewDelegation(TypedDict):
    delegateeId: str
    delegatorId: NotRequired[str]
    scopes: list[str]
    expiresIn: NotRequired[int]
    resource: NotRequired[list[str] | None]
    parentToken: NotRequired[str]
    purpose: NotRequired[str | None]
    allowRedelegation: NotRequired[bool]


class NewFederationPartner(TypedDict):
    name: str
    issuer: str
    jwksUri: str
    idJag: NotRequired[bool]


class NewListingEndpoints(TypedDict):
    protocol: Literal["a2a", "mcp", "http"]
    url: str


class NewListingPricing(TypedDict):
    model: Literal["free", "contact", "external"]
    url: NotRequired[str | None]


class NewListing(TypedDict):
    agentId: str
    title: str
    summary: str
    description: NotRequired[str]
    categories: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    endpoints: NotRequired[list[NewListingEndpoints]]
    documentationUrl: NotRequired[str | None]
    pricing: NotRequired[NewListingPricing]
    visibility: NotRequired[Literal["public", "organization"]]


class NewMember(TypedDict):
    agentId: str
    role: Literal["member", "admin"]


class NewOrganization(TypedDict):
    name: str
    slug: str
    planTier: NotRequired[Literal["free", "pro", "enterprise"]]
    maxAgents: NotRequired[int]
    maxTokensPerMonth: NotRequired[int]


class NewPerson(TypedDict):
    issuer: NotRequired[str]
    subject: NotRequired[str]
    email: NotRequired[str]
    connectionId: NotRequired[str]
    name: str
    role: Literal["admin", "viewer", "member"]
    agentId: NotRequired[str | None]


class NewPortal(TypedDict):
    organization_id: NotRequired[str]


class NewResourceScope(TypedDict):
    name: str
    description: NotRequired[str | None]


class NewResource(TypedDict):
    identifier: str
    name: str
    scopes: list[NewResourceScope]
    description: NotRequired[str | None]
    tokenLifetimeSeconds: NotRequired[int]
    claims: NotRequired[
        list[
            Literal[
                "agentType",
                "capabilities",
                "owner",
                "deploymentEnv",
                "version",
                "personName",
                "personEmail",
                "personSubject",
            ]
        ]
    ]
    peopleScopes: NotRequired[list[str]]
    approvers: NotRequired[list[str]]
    authorizationDetailTypes: NotRequired[list[NewAuthorizationDetailType]]


class NewSignalDelivery(TypedDict):
    method: Literal["urn:ietf:rfc:8935", "urn:ietf:rfc:8936"]
    endpoint_url: NotRequired[str]
    authorization_header: NotRequired[str]


class NewSignalStream(TypedDict):
    delivery: NotRequired[NewSignalDelivery]
    events_requested: NotRequired[list[str]]
    description: NotRequired[str]
    inactivity_timeout: NotRequired[int]


class TrustPolicyResource(TypedDict):
    identifier: str
    scopes: list[str]


class NewTrustPolicy(TypedDict):
    agentId: str
    name: str
    provider: Literal["github", "gitlab", "kubernetes", "aws", "gcp", "azure", "spiffe", "custom"]
    issuer: NotRequired[str]
    jwksUri: NotRequired[str | None]
    audiences: list[str]
    subject: NotRequired[str | None]
    conditions: NotRequired[list[TrustCondition]]
    scopes: list[
        Literal[
            "agents:read",
            "agents:write",
            "tokens:read",
            "audit:read",
            "webhooks:read",
            "webhooks:write",
            "resources:read",
            "resources:write",
            "admin:orgs",
        ]
    ]
    resources: NotRequired[list[TrustPolicyResource]]
    actsAsAdmin: NotRequired[bool]
    maxTokenAgeSeconds: NotRequired[int]
    singleUse: NotRequired[bool]
    status: NotRequired[Literal["active", "disabled"]]


class NewWebhookSubscription(TypedDict):
    name: str
    url: str
    events: list[
        Literal[
            "*",
            "agent.created",
            "agent.updated",
            "agent.suspended",
            "agent.reactivated",
            "agent.decommissioned",
            "credential.generated",
            "credential.rotated",
            "credential.revoked",
            "token.issued",
            "token.revoked",
            "resource.created",
            "resource.updated",
            "resource.deleted",
            "resource.shared",
            "resource.unshared",
            "grant.changed",
            "grant.removed",
            "share.offered",
            "share.accepted",
            "share.declined",
            "delegation.created",
            "delegation.revoked",
            "trust_policy.created",
            "trust_policy.updated",
            "trust_policy.deleted",
            "member.added",
            "member.changed",
            "member.removed",
            "person.created",
            "person.changed",
            "person.removed",
            "person.suspended",
            "person.activated",
            "connection.created",
            "connection.updated",
            "connection.deleted",
            "client.registered",
            "consent.granted",
            "consent.denied",
            "consent.revoked",
            "approval.requested",
            "approval.approved",
            "approval.denied",
            "approval.expired",
            "approval.canceled",
            "session.created",
            "session.ended",
            "session.refused",
            "token.refused",
            "policy.refused",
        ]
    ]


Nothing: TypeAlias = dict[str, Any]


class OasfRecordSkills(TypedDict):
    id: Literal[10901]
    name: Literal["natural_language_processing/text_classification/topic_labeling"]


class OasfRecordSkills2(TypedDict):
    id: Literal[10301]
    name: Literal["natural_language_processing/information_retrieval_synthesis/fact_extraction"]


class OasfRecordSkills3(TypedDict):
    id: Literal[10202]
    name: Literal["natural_language_processing/natural_language_generation/summarization"]


class OasfRecordSkills4(TypedDict):
    id: Literal[10702]
    name: Literal["natural_language_processing/analytical_reasoning/problem_solving"]


class OasfRecordLocators(TypedDict):
    type: Literal[
        "unspecified",
        "helm_chart",
        "docker_image",
        "python_package",
        "source_code",
        "binary",
    ]
    url: str


class OasfRecordSignature(TypedDict):
    signed_at: str
    algorithm: str
    signature: str
    content_type: str
    content_bundle: str


class OasfRecord(TypedDict):
    schema_version: Literal["0.7.0"]
    name: str
    version: str
    description: str
    authors: list[str]
    created_at: str
    skills: list[OasfRecordSkills | OasfRecordSkills2 | OasfRecordSkills3 | OasfRecordSkills4]
    locators: list[OasfRecordLocators]
    annotations: dict[str, str]
    signature: NotRequired[OasfRecordSignature]


class Organization(TypedDict):
    organizationId: str
    name: str
    slug: str
    planTier: Literal["free", "pro", "enterprise"]
    maxAgents: int
    maxTokensPerMonth: int
    status: Literal["active", "suspended", "deleted"]
    createdAt: str
    updatedAt: str


class OrganizationChange(TypedDict):
    name: NotRequired[str]
    planTier: NotRequired[Literal["free", "pro", "enterprise"]]
    maxAgents: NotRequired[int | None]
    maxTokensPerMonth: NotRequired[int | None]
    status: NotRequired[Literal["active", "suspended"]]


class OrganizationPage(TypedDict):
    data: list[Organization]
    total: int
    page: int
    limit: int


class OutsideTokenExchange(TypedDict):
    grant_type: NotRequired[str]
    subject_token: NotRequired[str]
    subject_token_type: NotRequired[str]
    requested_token_type: NotRequired[str]
    actor_token: NotRequired[str]
    client_id: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[str]
    audience: NotRequired[str]


class OverviewAgents(TypedDict):
    """How many agents the organization has, without the decommissioned."""

    active: int
    suspended: int


class OverviewTokensToday(TypedDict):
    since: str
    issued: int


class OverviewTokensData(TypedDict):
    minute: str
    issued: int
    refused: int


class OverviewTokens(TypedDict):
    data: list[OverviewTokensData]
    truncatedBefore: str | None


class OverviewRefusalsData(TypedDict):
    action: str
    reason: str | None
    count: int


class OverviewRefusals(TypedDict):
    since: str
    total: int
    data: list[OverviewRefusalsData]
    truncatedBefore: str | None


class OverviewApprovals(TypedDict):
    waiting: int
    medianDecisionSeconds: float | None


class OverviewExpiringCredentialsData(TypedDict):
    agentId: str
    email: str
    credentialId: str
    name: str | None
    expiresAt: str


class OverviewExpiringCredentials(TypedDict):
    data: list[OverviewExpiringCredentialsData]
    total: int


class OverviewWritingAgentsData(TypedDict):
    agentId: str
    email: str
    scopes: list[str]


class OverviewWritingAgents(TypedDict):
    data: list[OverviewWritingAgentsData]
    total: int


class OverviewFailingWebhook(TypedDict):
    id: str
    name: str
    url: str
    active: bool
    failed: int
    deadLetter: int
    lastError: str | None
    lastFailedAt: str | None


class OverviewAudit(TypedDict):
    """The last round of the background verification."""

    intact: bool
    checkedAt: str | None


class OverviewFirstSteps(TypedDict):
    """For a guide to a new organization."""

    agents: bool
    credentials: bool
    tokens: bool
    agentId: str | None


class Overview(TypedDict):
    organizationId: str
    generatedAt: str
    agents: OverviewAgents
    tokensToday: OverviewTokensToday
    tokens: OverviewTokens | None
    refusals: OverviewRefusals | None
    approvals: OverviewApprovals | None
    expiringCredentials: OverviewExpiringCredentials
    writingAgents: OverviewWritingAgents
    failingDeliveries: list[OverviewFailingWebhook] | None
    audit: OverviewAudit | None
    firstSteps: OverviewFirstSteps


class PartnerToken(TypedDict):
    token: str
    audience: NotRequired[str]


class PartnerTokenVerification(TypedDict):
    valid: bool
    claims: NotRequired[dict[str, Any]]
    reason: NotRequired[
        Literal[
            "too_large",
            "malformed",
            "type_not_allowed",
            "too_many_actors",
            "algorithm_not_allowed",
            "critical_header",
            "own_token",
            "unknown_issuer",
            "keys_unavailable",
            "unknown_key",
            "bad_signature",
            "missing_claim",
            "expired",
            "not_yet_valid",
            "issued_in_future",
            "audience_mismatch",
        ]
    ]


class Person(TypedDict):
    personId: str
    organizationId: str
    issuer: str | None
    subject: str | None
    name: str
    role: Literal["admin", "viewer", "member"]
    agentId: str | None
    email: str | None
    connectionId: str | None
    status: Literal["active", "suspended"]
    createdAt: str
    updatedAt: str
    lastSignInAt: str | None


class PersonChange(TypedDict):
    name: NotRequired[str]
    role: NotRequired[Literal["admin", "viewer", "member"]]
    agentId: NotRequired[str | None]
    status: NotRequired[Literal["active", "suspended"]]


class PersonPage(TypedDict):
    data: list[Person]
    total: int
    page: int
    limit: int


class Portal(TypedDict):
    portalUrl: str


class Probe(TypedDict):
    status: Literal["ok"]


class Product(TypedDict):
    name: str
    version: str
    docs: str
    console: str


class ReceivedShare(TypedDict):
    resourceId: str
    identifier: str
    name: str
    verified: bool
    ownerId: str
    ownerName: str
    ownerSlug: str
    scopes: list[str]
    offeredScopes: list[str]
    status: Literal["offered", "accepted"]
    createdAt: str
    updatedAt: str


class ReceivedSharePage(TypedDict):
    data: list[ReceivedShare]
    total: int
    page: int
    limit: int


class RemovedSignalSubject(TypedDict):
    stream_id: str
    subject: dict[str, Any]


class ResourceScope(TypedDict):
    name: str
    description: str | None


class ResourceVerification(TypedDict):
    status: Literal["pending", "verified"]
    host: str
    method: Literal["dns", "well-known", "operator"] | None
    token: str | None


class Resource(TypedDict):
    resourceId: str
    organizationId: str
    identifier: str
    name: str
    description: str | None
    scopes: list[ResourceScope]
    tokenLifetimeSeconds: int
    claims: list[
        Literal[
            "agentType",
            "capabilities",
            "owner",
            "deploymentEnv",
            "version",
            "personName",
            "personEmail",
            "personSubject",
        ]
    ]
    peopleScopes: list[str]
    approvers: list[str]
    authorizationDetailTypes: list[AuthorizationDetailType]
    verification: ResourceVerification
    createdAt: str
    updatedAt: str


class ResourceChange(TypedDict):
    name: NotRequired[str]
    scopes: NotRequired[list[NewResourceScope]]
    description: NotRequired[str | None]
    tokenLifetimeSeconds: NotRequired[int]
    claims: NotRequired[
        list[
            Literal[
                "agentType",
                "capabilities",
                "owner",
                "deploymentEnv",
                "version",
                "personName",
                "personEmail",
                "personSubject",
            ]
        ]
    ]
    peopleScopes: NotRequired[list[str]]
    approvers: NotRequired[list[str]]
    authorizationDetailTypes: NotRequired[list[NewAuthorizationDetailType]]


class ResourcePage(TypedDict):
    data: list[Resource]
    total: int
    page: int
    limit: int


class ResourceScopeNames(TypedDict):
    scopes: list[str]


class ResourceShare(TypedDict):
    resourceId: str
    organizationId: str
    scopes: list[str]
    offeredScopes: list[str]
    status: Literal["offered", "accepted"]
    createdAt: str
    updatedAt: str


class ResourceSharePage(TypedDict):
    data: list[ListedResourceShare]
    total: int
    page: int
    limit: int


class ResourceVerificationRequest(TypedDict):
    approve: NotRequired[bool]


class SignalPoll(TypedDict):
    maxEvents: NotRequired[int]
    returnImmediately: NotRequired[bool]
    ack: NotRequired[list[str]]
    setErrs: NotRequired[dict[str, dict[str, Any]]]


class SignalStreamDelivery(TypedDict):
    method: Literal["urn:ietf:rfc:8935", "urn:ietf:rfc:8936"]
    endpoint_url: str


class SignalStream(TypedDict):
    stream_id: str
    iss: str
    aud: str
    delivery: SignalStreamDelivery
    events_supported: list[str]
    events_requested: list[str]
    events_delivered: list[str]
    description: NotRequired[str]
    inactivity_timeout: NotRequired[int]


class SignalStreamChange(TypedDict):
    stream_id: str
    delivery: NotRequired[NewSignalDelivery]
    events_requested: NotRequired[list[str]]
    description: NotRequired[str]
    inactivity_timeout: NotRequired[int]
    iss: NotRequired[str]
    aud: NotRequired[str]
    events_supported: NotRequired[list[str]]
    events_delivered: NotRequired[list[str]]


class SignalStreamReplacement(TypedDict):
    stream_id: str
    delivery: NotRequired[NewSignalDelivery]
    events_requested: NotRequired[list[str]]
    description: NotRequired[str]
    inactivity_timeout: NotRequired[int]
    iss: NotRequired[str]
    aud: NotRequired[str]
    events_supported: NotRequired[list[str]]
    events_delivered: NotRequired[list[str]]


class SignalStreamStatus(TypedDict):
    stream_id: str
    status: Literal["enabled", "paused", "disabled"]
    reason: NotRequired[str]


class SignalStreamStatusChange(TypedDict):
    stream_id: str
    status: Literal["enabled", "paused", "disabled"]
    reason: NotRequired[str]


class SignalVerification(TypedDict):
    stream_id: str
    state: NotRequired[str]


class Signals(TypedDict):
    sets: dict[str, str]
    moreAvailable: bool


class Soc2Control(TypedDict):
    id: str
    name: str
    status: Literal["pass", "fail", "unknown"]
    reason: Literal["not_applicable", "not_visible", "not_checked", None]
    lastChecked: str


class Soc2Controls(TypedDict):
    controls: list[Soc2Control]


class Subscription(TypedDict):
    organizationId: str
    tier: Literal["free", "pro", "enterprise"]
    status: Literal["none", "incomplete", "active", "past_due", "canceled"]
    provider: Literal["stripe", "embedded"] | None
    currentPeriodEnd: str | None
    cancelAtPeriodEnd: bool
    updatedAt: str


class TestedToken(TypedDict):
    token: str


class TierCheckout(TypedDict):
    checkoutUrl: str


class TierStatusLimits(TypedDict):
    """2147483647 is unlimited."""

    maxAgents: int
    maxCallsPerDay: int
    maxTokensPerDay: int


class TierStatusUsage(TypedDict):
    """Days begin at midnight UTC."""

    agentCount: int
    callsToday: int
    tokensToday: int


class TierStatus(TypedDict):
    tier: Literal["free", "pro", "enterprise"]
    limits: TierStatusLimits
    usage: TierStatusUsage


class TierUpgrade(TypedDict):
    target_tier: Literal["pro", "enterprise"]


class TokenError(TypedDict):
    """The body of an error at the token endpoints (RFC 6749 §5.2)."""

    error: str
    error_description: NotRequired[str]
    code: NotRequired[str]
    message: NotRequired[str]


class TokenPreview(TypedDict):
    allowed: bool
    claims: NotRequired[dict[str, Any]]
    proofRequired: NotRequired[bool]
    error: NotRequired[str]
    reason: NotRequired[str]


class TokenPreviewRequest(TypedDict):
    agentId: str
    resource: NotRequired[str]
    scope: NotRequired[str]


class TokenQuestion(TypedDict):
    token: str
    token_type_hint: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]


class TokenRequest(TypedDict):
    grant_type: NotRequired[str]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[str]
    client_assertion: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[str]
    subject_token: NotRequired[str]
    subject_token_type: NotRequired[str]
    requested_token_type: NotRequired[str]
    audience: NotRequired[str]
    actor_token: NotRequired[str]
    actor_token_type: NotRequired[str]
    authorization_details: NotRequired[str]
    code: NotRequired[str]
    redirect_uri: NotRequired[str]
    code_verifier: NotRequired[str]
    refresh_token: NotRequired[str]
    auth_req_id: NotRequired[str]
    assertion: NotRequired[str]


class TokensByAgentData(TypedDict):
    agentId: str
    tokenCount: int


class TokensByAgent(TypedDict):
    tenantId: str
    month: str
    data: list[TokensByAgentData]


class TokensByDayData(TypedDict):
    date: str
    count: int


class TokensByDay(TypedDict):
    tenantId: str
    days: int
    data: list[TokensByDayData]


class TrustCheck(TypedDict):
    name: str
    ok: bool
    expected: str
    actual: str | None


class TrustPolicy(TypedDict):
    policyId: str
    organizationId: str
    agentId: str
    name: str
    provider: Literal["github", "gitlab", "kubernetes", "aws", "gcp", "azure", "spiffe", "custom"]
    issuer: str
    jwksUri: str | None
    audiences: list[str]
    subject: str | None
    conditions: list[TrustCondition]
    scopes: list[str]
    resources: list[TrustPolicyResource]
    actsAsAdmin: bool
    maxTokenAgeSeconds: int
    singleUse: bool
    status: Literal["active", "disabled"]
    lastUsedAt: str | None
    createdAt: str
    updatedAt: str


class TrustPolicyChange(TypedDict):
    name: NotRequired[str]
    issuer: NotRequired[str]
    jwksUri: NotRequired[str | None]
    audiences: NotRequired[list[str]]
    subject: NotRequired[str | None]
    conditions: NotRequired[list[TrustCondition]]
    scopes: NotRequired[
        list[
            Literal[
                "agents:read",
                "agents:write",
                "tokens:read",
                "audit:read",
                "webhooks:read",
                "webhooks:write",
                "resources:read",
                "resources:write",
                "admin:orgs",
            ]
        ]
    ]
    resources: NotRequired[list[TrustPolicyResource]]
    actsAsAdmin: NotRequired[bool]
    maxTokenAgeSeconds: NotRequired[int]
    singleUse: NotRequired[bool]
    status: NotRequired[Literal["active", "disabled"]]


class TrustPolicyPage(TypedDict):
    data: list[TrustPolicy]
    total: int
    page: int
    limit: int


class TrustTest(TypedDict):
    matched: bool
    checks: list[TrustCheck]
    claims: dict[str, Any]
    resources: NotRequired[list[TrustPolicyResource]]


class UsageData(TypedDict):
    date: str
    agentId: NotRequired[str]
    metric: Literal[
        "api_calls",
        "tokens_issued",
        "token_exchanges",
        "delegations_created",
        "webhook_deliveries",
        "introspections",
    ]
    quantity: int


class UsageTotals(TypedDict):
    """For each requested metric, zero included."""

    api_calls: NotRequired[int]
    tokens_issued: NotRequired[int]
    token_exchanges: NotRequired[int]
    delegations_created: NotRequired[int]
    webhook_deliveries: NotRequired[int]
    introspections: NotRequired[int]


Usage = TypedDict(
    "Usage",
    {
        "organizationId": str,
        "from": str,
        "to": str,
        "data": list[UsageData],
        "totals": UsageTotals,
    },
)


class UsageLimitsLimits(TypedDict):
    limitType: Literal["max_agents", "api_calls_per_day", "tokens_per_day", "tokens_per_month"]
    limit: int
    used: int
    remaining: int
    resetsAt: str | None


class UsageLimits(TypedDict):
    tier: Literal["free", "pro", "enterprise"]
    limits: list[UsageLimitsLimits]


class VerifiedDelegation(TypedDict):
    valid: Literal[True]
    chainId: str
    subjectId: str
    actorId: str
    scopes: list[str]
    depth: int
    expiresAt: str
    chain: list[DelegationChain]


class WebhookAttempt(TypedDict):
    attempted_at: str
    duration_ms: int
    http_status_code: int | None
    error: str | None
    response_excerpt: str | None


class WebhookDelivery(TypedDict):
    id: str
    subscription_id: str
    event_type: str
    payload: dict[str, Any]
    status: Literal["pending", "delivered", "failed", "dead_letter"]
    http_status_code: int | None
    attempt_count: int
    next_retry_at: str | None
    delivered_at: str | None
    created_at: str
    updated_at: str
    attempts: list[WebhookAttempt]


class WebhookDeliveryCounts(TypedDict):
    pending: int
    delivered: int
    failed: int
    dead_letter: int
    open_replays: int


class WebhookDeliveryPage(TypedDict):
    deliveries: list[WebhookDelivery]
    total: int
    limit: int
    offset: int


class WebhookReplay(TypedDict):
    count: int


class WebhookReplayRequest(TypedDict):
    status: NotRequired[Literal["delivered", "failed", "dead_letter"]]
    since: str
    until: NotRequired[str]


class WebhookSecretRotation(TypedDict):
    overlapSeconds: NotRequired[int]


class WebhookSubscription(TypedDict):
    id: str
    organization_id: str
    name: str
    url: str
    events: list[str]
    active: bool
    failure_count: int
    previous_secret_expires_at: str | None
    created_at: str
    updated_at: str


class WebhookSubscriptionChange(TypedDict):
    name: NotRequired[str]
    url: NotRequired[str]
    events: NotRequired[
        list[
            Literal[
                "*",
                "agent.created",
                "agent.updated",
                "agent.suspended",
                "agent.reactivated",
                "agent.decommissioned",
                "credential.generated",
                "credential.rotated",
                "credential.revoked",
                "token.issued",
                "token.revoked",
                "resource.created",
                "resource.updated",
                "resource.deleted",
                "resource.shared",
                "resource.unshared",
                "grant.changed",
                "grant.removed",
                "share.offered",
                "share.accepted",
                "share.declined",
                "delegation.created",
                "delegation.revoked",
                "trust_policy.created",
                "trust_policy.updated",
                "trust_policy.deleted",
                "member.added",
                "member.changed",
                "member.removed",
                "person.created",
                "person.changed",
                "person.removed",
                "person.suspended",
                "person.activated",
                "connection.created",
                "connection.updated",
                "connection.deleted",
                "client.registered",
                "consent.granted",
                "consent.denied",
                "consent.revoked",
                "approval.requested",
                "approval.approved",
                "approval.denied",
                "approval.expired",
                "approval.canceled",
                "session.created",
                "session.ended",
                "session.refused",
                "token.refused",
                "policy.refused",
            ]
        ]
    ]
    active: NotRequired[bool]


class WebhookSubscriptionWithSecret(TypedDict):
    id: str
    organization_id: str
    name: str
    url: str
    events: list[str]
    active: bool
    failure_count: int
    previous_secret_expires_at: str | None
    created_at: str
    updated_at: str
    signingSecret: str


class JwksAnswer(TypedDict):
    keys: list[dict[str, Any]]
