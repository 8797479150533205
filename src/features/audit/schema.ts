import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import { dayOrLocalTime } from '../../contract/patterns.ts';
import { literals, Nullable, PageOf, pageQuery, Timestamp, Uuid } from '../../contract/shapes.ts';

export const outcomes = ['success', 'failure'] as const;

export const AuditEvent = Type.Object(
  {
    eventId: Uuid,
    agentId: Uuid,
    action: Type.String(),
    outcome: literals(outcomes),
    ipAddress: Type.String(),
    userAgent: Type.String(),
    metadata: Type.Object({}, { additionalProperties: true }),
    timestamp: Timestamp,
  },
  { title: 'AuditEvent' },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const AuditPage = PageOf(AuditEvent, 'AuditPage');

/** Parsed by log/period.ts. */
const AuditDate = (meaning: string) =>
  Type.String({
    maxLength: 40,
    documentedPattern: dayOrLocalTime,
    description: `${meaning}: an ISO 8601 date or time (of UTC, unless it names a zone), such as 2030-01-31T12:00:00Z`,
  });

const periodQuery = {
  fromDate: Type.Optional(AuditDate('the first moment, or day, at most 90 days ago')),
  toDate: Type.Optional(AuditDate('the last moment, or day')),
};

const verifyPeriod = {
  fromDate: Type.Optional(AuditDate('the first moment, or day')),
  toDate: Type.Optional(AuditDate('the last moment, or day')),
};

export const AuditQuery = Type.Object({
  ...pageQuery(pageSizes.audit),
  agentId: Type.Optional(Uuid),
  actorId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'a UUID: the agent that acted, on itself or on another agent',
    }),
  ),
  action: Type.Optional(
    Type.String({
      maxLength: 64,
      pattern: '^[^*]*\\*?$',
      description:
        'an action such as token.issued, or the beginning of actions and a * at its end, such as token.*',
    }),
  ),
  outcome: Type.Optional(literals(outcomes)),
  ...periodQuery,
});
export type AuditQuery = Static<typeof AuditQuery>;

export const AuditEventParams = Type.Object({ eventId: Uuid });

/** For the operator, who sees every log. Refused requests of unknown clients are recorded under the nil UUID. */
const organizationFilter = (otherwise: string) => ({
  organizationId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: `a UUID, for the operator: whose log; ${otherwise} when none is named`,
    }),
  ),
});

export const VerifyQuery = Type.Object({
  ...verifyPeriod,
  ...organizationFilter('all of them'),
});

export const Verification = Type.Object(
  {
    verified: Type.Boolean({
      description: 'false when tampering is detected, in any of the logs that were asked for',
    }),
    checkedCount: Type.Integer({
      description: 'how many events were checked, up to the first that is not intact',
    }),
    fromDate: Nullable(Timestamp),
    toDate: Nullable(Timestamp),
  },
  { title: 'AuditVerification' },
);
export type Verification = Static<typeof Verification>;

const exampleLeaf = JSON.stringify({
  at: '2030-01-31T12:00:00.000Z',
  head: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  number: 12,
  organizationId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  previous: 'fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9',
  size: 128,
});

const CheckpointInclusion = Type.Object(
  {
    checkpoint: Type.String({
      description: 'the leaf: canonical JSON with the hash of the checkpoint before it (`previous`)',
      examples: [exampleLeaf],
    }),
    treeHead: Type.Integer({ description: 'the number of the tree head', examples: [4821] }),
    treeSize: Type.Integer({ description: 'how many checkpoints are in the tree', examples: [2] }),
    leafIndex: Type.Integer({ description: 'the place of the leaf in the tree, from 0', examples: [0] }),
    proof: Type.Array(Type.String(), {
      description: 'the inclusion proof of RFC 9162: hashes from the leaf to the root',
      examples: [['2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae']],
    }),
  },
  {
    title: 'AuditCheckpointInclusion',
    description: 'where the checkpoint is in the Merkle tree that was signed; keep it with `signed`',
  },
);

export const AuditCheckpoint = Type.Object(
  {
    number: Type.Integer(),
    size: Type.Integer({ description: 'how many events the chain had' }),
    headHash: Type.String({ description: 'the hash of the last of them' }),
    time: Timestamp,
    keyId: Type.String(),
    signed: Type.String({
      description:
        'what the instance signed, as a compact JWS: the tree head that includes the checkpoint, or, without an inclusion, the checkpoint itself',
    }),
    inclusion: Nullable(CheckpointInclusion),
  },
  { title: 'AuditCheckpoint' },
);
export type AuditCheckpoint = Static<typeof AuditCheckpoint>;
export const AuditCheckpointPage = PageOf(AuditCheckpoint, 'AuditCheckpointPage');
export const CheckpointQuery = Type.Object({
  ...pageQuery(pageSizes.audit),
  ...organizationFilter('its own'),
});
export type CheckpointQuery = Static<typeof CheckpointQuery>;
