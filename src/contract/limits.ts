/** Every limit of the API. The spec names the plans; their figures are ours. */

export const unlimited = 2_147_483_647;

export const planTiers = ['free', 'pro', 'enterprise'] as const;
export type PlanTier = (typeof planTiers)[number];

export interface PlanLimits {
  readonly maxAgents: number;
  readonly maxCallsPerDay: number;
  readonly maxTokensPerDay: number;
  readonly maxTokensPerMonthPerClient: number;
}

export const plans: Readonly<Record<PlanTier, PlanLimits>> = {
  free: { maxAgents: 25, maxCallsPerDay: 1_000, maxTokensPerDay: 1_000, maxTokensPerMonthPerClient: 10_000 },
  pro: {
    maxAgents: 1_000,
    maxCallsPerDay: 100_000,
    maxTokensPerDay: 100_000,
    maxTokensPerMonthPerClient: 1_000_000,
  },
  enterprise: {
    maxAgents: unlimited,
    maxCallsPerDay: unlimited,
    maxTokensPerDay: unlimited,
    maxTokensPerMonthPerClient: unlimited,
  },
};

/** The limits of a plan: values of `limitType` in responses and of `limit_type` in metrics. */
export const limitTypes = ['max_agents', 'api_calls_per_day', 'tokens_per_day', 'tokens_per_month'] as const;
export type LimitType = (typeof limitTypes)[number];

export const limits = {
  rateWindowSeconds: 60,
  requestsPerMinute: 100,
  /** The highest limit that one agent can have. */
  maxRequestsPerMinute: 1_000_000,
  auditVerifyPerMinute: 30,
  /** Links in one answer of GET /audit/chain. */
  auditChainPage: 1_000,
  /** Exports over the API; those that run at once are counted in each process. */
  auditExports: { perMinute: 6, perOrganization: 1, perProcess: 4, retryAfterSeconds: 10 },
  /** Downloads of archived days; those that run at once are counted in each process. */
  auditArchiveDownloads: { perMinute: 60, perOrganization: 2, perProcess: 8, retryAfterSeconds: 10 },
  auditArchive: {
    /** How long after its end a day waits for a checkpoint of the instance log with a quorum of its witnesses. */
    quorumHours: 24,
    /** How long object storage may take for one step, e.g. a part of a file. */
    stallSeconds: 60,
  },
  /** Refusals of unauthenticated requests recorded per organization and minute; the others are counted. */
  refusalsPerMinute: 60,
  /** Webhook events of each kind of refusal, per organization and minute. */
  refusalEventsPerMinute: 60,
  /** Per agent, and per address for tokens that are refused. They are the requests of a whole API, not of one client of ours. */
  forwardAuthPerMinute: 6_000,
  scaffoldsPerMinutePerTenant: 10,
  accessTokenSeconds: 3_600,
  /** DPoP: how far the `iat` of a proof may be from now, and how long a nonce is accepted. */
  proofSeconds: 300,
  proofNonceSeconds: 300,
  console: {
    /** A session ends after this time without a request. */
    idleSeconds: 1_800,
    sessionSeconds: 28_800,
    linkSeconds: 60,
    /** A code for the command line. */
    codeSeconds: 120,
    codesPerMinute: 10,
    /**
     * Requests below /console, in windows of their own: per person or agent of a session; per address without a session, for files of
     * the console, and for requests from other sites, each apart. RATE_LIMIT_PER_MINUTE applies where it is higher; a lower
     * `rateLimitPerMinute` of the agent applies to its sessions.
     */
    requestsPerMinute: 600,
  },
  auditRetentionDays: 90,
  delegation: {
    minSeconds: 60,
    defaultSeconds: 3_600,
    maxSeconds: 86_400,
    maxDepth: 5,
    maxTokenLength: 8_192,
  },
  resource: {
    maxPerOrganization: 100,
    maxIdentifierLength: 512,
    maxScopes: 100,
    maxScopeLength: 64,
    minTokenSeconds: 60,
    maxTokenSeconds: 3_600,
    /** They cause outbound requests. */
    verificationsPerMinute: 30,
  },
  share: {
    /** Resources that one organization can offer to another for the first time within 24 hours: each writes into the other's log. */
    offersPerDay: 20,
    /** After a refusal, the owner cannot offer again. */
    declinedHours: 24,
  },
  peoplePerOrganization: 1_000,
  connectionsPerOrganization: 20,
  approversPerResource: 50,
  redirectUrisPerAgent: 20,
  displayNameLength: 64,
  labels: { perAgent: 20, maxValueLength: 63 },
  consent: { minSeconds: 60, defaultSeconds: 2_592_000, maxSeconds: 7_776_000 },
  approval: {
    /** Until the request lapses. */
    minExpirySeconds: 30,
    defaultExpirySeconds: 600,
    maxExpirySeconds: 86_400,
    minAccessSeconds: 60,
    defaultAccessSeconds: 3_600,
    maxAccessSeconds: 86_400,
    maxMessageLength: 200,
    openPerAgent: 20,
    openPerOrganization: 200,
    pollSeconds: 5,
    /** Resources for which an organization wants two people. */
    maxRequireTwo: 100,
  },
  authorizationDetails: {
    maxItems: 10,
    maxBytes: 4_096,
    typesPerResource: 20,
    maxTypeLength: 64,
    maxSchemaBytes: 8_192,
    maxSchemaDepth: 5,
  },
  /** From a request at the authorization endpoint to the decision. */
  authorizationRequestSeconds: 600,
  authorizationCodeSeconds: 60,
  maxStateLength: 1_024,
  /** A refresh token that is presented again within this time answers again: the first answer may have been lost. */
  refreshGraceSeconds: 10,
  clientDocument: { timeoutMs: 5_000, maxBytes: 5_120, minCacheSeconds: 60, maxCacheSeconds: 86_400 },
  /** The key set that a client's document names. */
  clientKeySetBytes: 65_536,
  clientPolicyDomains: 100,
  /** From the start of a sign-in through an OpenID provider to its end. */
  providerSignInSeconds: 600,
  idempotencyHours: 24,
  idempotencyKeyLength: 255,
  /** The MCP server. A plan parses and validates a file on the main thread. */
  mcp: { plansPerMinute: 6, planCharacters: 20_000 },
  /** GET /overview: the periods that it covers, and how much it reads and lists. */
  overview: {
    tokenMinutes: 60,
    refusalHours: 24,
    /** How long ago a day can have begun that is still today somewhere, with a change of the clock. */
    dayHours: 48,
    /** Events read: the newest ones of the period. */
    maxEvents: 50_000,
    maxReasons: 20,
    expiryDays: 14,
    maxCredentials: 100,
    maxWritingAgents: 100,
    /** Counts of credentials and deliveries end here. */
    maxCount: 1_000,
  },
  analyticsDays: { default: 30, max: 90 },
  usageDays: { default: 30, max: 90 },
  /** In the compliance report. */
  complianceApprovals: { days: 90, maxListed: 100 },
  /** More than a year, so that a period can be compared with the year before. */
  usageRetentionDays: 400,
  complianceReportCacheSeconds: 300,
  complianceControlsCacheSeconds: 60,
  webhookAttempts: 10,
  webhookTimeoutMs: 10_000,
  webhooksPerOrganization: 50,
  /** At most this much of a receiver's response is read. */
  webhookResponseBytes: 65_536,
  /** Characters of a receiver's response that are stored with an attempt. */
  webhookResponseExcerpt: 512,
  /** Stored per delivery, also when it is replayed more often. */
  webhookAttemptsStored: 50,
  webhookRetentionDays: 30,
  /** How long a replaced signing secret signs too. */
  webhookSecretOverlapSeconds: { default: 86_400, max: 604_800 },
  /** Replays of many deliveries that may be under way for one subscription. */
  webhookOpenReplays: 10,
  /**
   * Per process: the bytes that unread responses may hold (beyond it, the slowest connections are closed), and how long a client may
   * read nothing of a waiting response.
   */
  unreadResponses: { maxBytes: 64 * 1024 * 1024, stallMs: 30_000 },
  /** Open streams of GET /events, counted in each process. */
  eventStreams: { perAgent: 5, perOrganization: 50, perProcess: 1_000, retryAfterSeconds: 10 },
  /** Open streams of people in the console, counted in each process. */
  personalStreams: { perSession: 5, perOrganization: 200, perProcess: 1_000 },
  /** Signal streams (SSF). */
  signals: {
    maxStreams: { perAgent: 50, perOrganization: 100 },
    /**
     * A signal is put into new streams for this long: twice as long as a token can live, so that a fresh stream has everything that can
     * still matter.
     */
    keptSeconds: 7_200,
    /**
     * Verifiers count tokens from up to this long after an end as earlier ones, and new tokens have later times. The SDKs have the same number:
     * with a smaller one, ended tokens would count.
     */
    issueToleranceMs: 2_000,
    /** A signal waits for its receiver for this long. */
    undeliveredSeconds: 604_800,
    inactivitySeconds: { min: 60, default: 172_800, max: 604_800 },
    /** Of a poll that finds nothing. */
    pollSeconds: 25,
    /** In each process. An organization has one open poll for each of its streams at most. */
    openPolls: { max: 2_000, retryAfterSeconds: 2 },
    /** Per agent, in a window of their own: each replica of an API polls. */
    pollsPerMinute: 1_200,
    maxEvents: { default: 100, max: 500 },
    maxAcknowledged: 1_000,
    maxExcludedSubjects: 500,
    verificationsPerMinute: 30,
    push: { timeoutMs: 10_000, maxResponseBytes: 4_096 },
  },
  /** Requests that may wait on one connection; with more, the connection is closed. */
  pipelinedRequests: 32,
  /** Higher page numbers are refused: `offset` must stay an integer in SQL. */
  maxPage: 10_000_000,
} as const;

/** Agents that hold writing scopes of our API: as many as `few`, or this share of all agents, need no attention. */
export const writingAgentLimits = { few: 5, share: 0.1 } as const;

export interface PageSize {
  readonly default: number;
  readonly max: number;
}

export const pageSizes = {
  standard: { default: 20, max: 100 },
  audit: { default: 50, max: 200 },
  deliveries: { default: 20, max: 100 },
} as const satisfies Record<string, PageSize>;
