import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

const {
  tokenMinutes,
  refusalHours,
  dayHours,
  maxReasons,
  maxEvents,
  expiryDays,
  maxCredentials,
  maxWritingAgents,
  maxCount,
} = limits.overview;

export const OverviewQuery = Type.Object({
  organizationId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'a UUID, for the operator: which organization; its own when none is named',
    }),
  ),
  startOfDay: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: `an ISO 8601 time: when the day of tokensToday begins, for a reader in another time zone, at most ${dayHours} hours ago; by default that of UTC`,
    }),
  ),
});

export type OverviewQuery = Static<typeof OverviewQuery>;

const truncatedBefore = Type.Union(
  [
    Type.Unsafe<string>({
      ...Timestamp,
      description: `an ISO 8601 time when the organization has more than ${maxEvents} events in this period: earlier ones are not counted`,
    }),
    Type.Null(),
  ],
  { examples: [null] },
);

const TokenMinutes = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        minute: Timestamp,
        issued: Type.Integer({ examples: [42] }),
        refused: Type.Integer({ examples: [1] }),
      }),
      {
        description: `each of the last ${tokenMinutes} minutes, oldest first, zero included; the last one is the current minute`,
      },
    ),
    truncatedBefore,
  },
  { title: 'OverviewTokens' },
);

const Agents = Type.Object(
  {
    active: Type.Integer({ examples: [12] }),
    suspended: Type.Integer({ examples: [0] }),
  },
  {
    title: 'OverviewAgents',
    description: 'how many agents the organization has, without the decommissioned',
  },
);

const TokensToday = Type.Object(
  {
    since: Type.Unsafe<string>({
      ...Timestamp,
      description: 'from this hour on: the start of the day, or of the hour of UTC that contains it',
    }),
    issued: Type.Integer({ examples: [420] }),
  },
  { title: 'OverviewTokensToday' },
);

const Refusals = Type.Object(
  {
    since: Timestamp,
    total: Type.Integer({ examples: [3] }),
    data: Type.Array(
      Type.Object({
        action: Type.String({
          description: 'the action of the audit events; refusals.suppressed counts refusals without an event',
          examples: ['token.refused'],
        }),
        reason: Nullable(
          Type.String({
            examples: [
              'client authentication failed: check the client id, and that its secret, key or assertion is current',
            ],
          }),
        ),
        count: Type.Integer({ examples: [3] }),
      }),
      {
        description: `refusals of the last ${refusalHours} hours by action and reason, the most frequent first; at most ${maxReasons}`,
      },
    ),
    truncatedBefore,
  },
  { title: 'OverviewRefusals' },
);

const ExpiringCredentials = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        agentId: Uuid,
        email: Type.String({ description: 'of the agent' }),
        credentialId: Uuid,
        name: Nullable(Type.String({ description: 'of the credential', examples: ['ci'] })),
        expiresAt: Timestamp,
      }),
      {
        description: `active credentials that expire within ${expiryDays} days, the next one first; at most ${maxCredentials}`,
      },
    ),
    total: Type.Integer({ description: `how many there are; ${maxCount} means as many or more` }),
  },
  { title: 'OverviewExpiringCredentials' },
);

const WritingAgents = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        agentId: Uuid,
        email: Type.String(),
        scopes: Type.Array(Type.String(), {
          description: 'the writing scopes',
          examples: [['agents:write']],
        }),
      }),
      {
        description: `agents that hold a scope of this service's own API that changes something, the newest first; at most ${maxWritingAgents}`,
      },
    ),
    total: Type.Integer({ description: `how many there are; ${maxCount} means as many or more` }),
  },
  { title: 'OverviewWritingAgents' },
);

const FailingWebhook = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    url: Type.String(),
    active: Type.Boolean(),
    failed: Type.Integer({
      description: `deliveries that wait for another attempt; ${maxCount} means as many or more`,
      examples: [2],
    }),
    deadLetter: Type.Integer({
      description: `deliveries without another attempt; ${maxCount} means as many or more`,
      examples: [0],
    }),
    lastError: Nullable(
      Type.String({ description: 'of the newest of these deliveries', examples: ['HTTP status 503'] }),
    ),
    lastFailedAt: Nullable(Timestamp),
  },
  { title: 'OverviewFailingWebhook' },
);

const AuditStatus = Type.Object(
  {
    intact: Type.Boolean({
      description: 'false while the watch of the audit log, or a verification, has found a change',
    }),
    checkedAt: Nullable(Timestamp),
  },
  { title: 'OverviewAudit', description: 'the last round of the background verification' },
);

const FirstSteps = Type.Object(
  {
    agents: Type.Boolean({ description: 'there is an agent besides the caller' }),
    credentials: Type.Boolean({ description: 'such an agent has a credential, a public key, or a token' }),
    tokens: Type.Boolean({ description: 'such an agent was issued a token' }),
    agentId: Nullable(Type.Unsafe<string>({ ...Uuid, description: 'a UUID: the first of these agents' })),
  },
  { title: 'OverviewFirstSteps', description: 'for a guide to a new organization' },
);

const Approvals = Type.Object(
  {
    waiting: Type.Integer({ description: 'requests for approval that wait for a decision', examples: [2] }),
    medianDecisionSeconds: Nullable(
      Type.Number({
        description: `from the request to the decision of a person, over the decisions of the last ${refusalHours} hours; null when there was none`,
        examples: [95.5],
      }),
    ),
  },
  { title: 'OverviewApprovals' },
);

export const Overview = Type.Object(
  {
    organizationId: Uuid,
    generatedAt: Timestamp,
    agents: Agents,
    tokensToday: TokensToday,
    tokens: Nullable(TokenMinutes),
    refusals: Nullable(Refusals),
    approvals: Nullable(Approvals),
    expiringCredentials: ExpiringCredentials,
    writingAgents: WritingAgents,
    failingDeliveries: Nullable(
      Type.Array(FailingWebhook, {
        description: 'webhooks with failed or dead-lettered deliveries, the most recent failure first',
      }),
    ),
    audit: Nullable(AuditStatus),
    firstSteps: FirstSteps,
  },
  { title: 'Overview' },
);
export type Overview = Static<typeof Overview>;
