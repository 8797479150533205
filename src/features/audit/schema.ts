import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import { dayOrLocalTime } from '../../contract/patterns.ts';
import { literals, Nullable, PageOf, pageQuery, Timestamp, Uuid, Witnessed } from '../../contract/shapes.ts';

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

/** Parsed by period.ts. */
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

/** For the operator, who sees every log. Refused requests of unknown clients are recorded under the nil UUID. */
const organizationFilter = (otherwise: string) => ({
  organizationId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: `a UUID, for the operator: whose log; ${otherwise} when none is named`,
    }),
  ),
});

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
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'failures with this reason, as the overview lists it: the first 200 characters of metadata.reason, or the action that a policy denied',
      examples: [
        'client authentication failed: check the client id, and that its secret, key or assertion is current',
      ],
    }),
  ),
  ...periodQuery,
  ...organizationFilter('all of them'),
});
export type AuditQuery = Static<typeof AuditQuery>;

export const AuditEventParams = Type.Object({ eventId: Uuid });

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
    witnessed: Type.Union([Witnessed, Type.Null()], {
      description:
        'the newest checkpoint of the instance log that a quorum of its witnesses has cosigned; null without one. It concerns the whole instance, and says nothing of other organizations',
    }),
  },
  { title: 'AuditVerification' },
);
export type Verification = Static<typeof Verification>;

const exampleHash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const exampleCanonical =
  '{"action":"token.issued","agentId":"7c9e6679-7425-40de-944b-e07fc1f90ae7","eventId":"d7c3e4f5-3b4a-4c5d-8e6f-7a8b9c0d1e2f","ipAddress":"192.0.2.7","metadata":{"scopes":["agents:read"]},"organizationId":"550e8400-e29b-41d4-a716-446655440000","outcome":"success","timestamp":"2030-01-31T12:00:00.000Z","userAgent":"screener/1.4"}';

const exampleLeaf = JSON.stringify({
  at: '2030-01-31T12:00:00.000Z',
  head: exampleHash,
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

const Hash = (description: string) =>
  Type.String({ description: `${description}, in hexadecimal`, examples: [exampleHash] });

export const ChainQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'the `sequence` of the last link that you have; without it, the answer begins at the first link',
      examples: [1_000],
    }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: limits.auditChainPage,
    default: limits.auditChainPage,
    description: 'how many links at most',
  }),
  ...organizationFilter('its own'),
});
export type ChainQuery = Static<typeof ChainQuery>;

const ChainEvent = Type.Object(
  {
    canonical: Type.String({
      description: 'the event as canonical JSON (RFC 8785)',
      examples: [exampleCanonical],
    }),
    appendedIn: Type.String({ description: 'the transaction that appended it', examples: ['74821'] }),
    seal: Type.String({ description: 'its seal, in hexadecimal', examples: ['5e3f9ab1c04d'] }),
    columns: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description:
        'only in an event that was changed: what the searchable columns say, when it differs from the stored text',
      examples: [null],
    }),
  },
  { title: 'AuditChainEvent' },
);

export const AuditLink = Type.Object(
  {
    sequence: Type.Integer({ description: 'its place in the chain, from 1', examples: [127] }),
    eventId: Uuid,
    time: Type.String({
      description: 'the time of the event, with microseconds',
      examples: ['2030-01-31T12:00:00.000000Z'],
    }),
    eventHash: Hash('the hash of the event: sha256 of `appendedIn`, a space, `seal`, a space, `canonical`'),
    hash: Hash('the hash of the link: sha256 of the hash before and the record of this link'),
    event: Nullable(ChainEvent),
  },
  { title: 'AuditLink' },
);
export type AuditLink = Static<typeof AuditLink>;

const ChainCheckpoint = Type.Object(
  {
    ...AuditCheckpoint.properties,
    previous: Nullable(Hash('the hash of the checkpoint before')),
    linkedOn: Type.String({
      description: 'the day (UTC) under which its links are stored',
      examples: ['2030-01-31'],
    }),
  },
  { title: 'AuditChainCheckpoint' },
);

export const AuditChain = Type.Object(
  {
    organizationId: Uuid,
    size: Type.Integer({
      description: 'the `sequence` of the newest link of the chain',
      examples: [128],
    }),
    startsAfter: Type.Integer({
      description: 'retention dropped the links up to this `sequence`; 0 when it dropped none',
      examples: [0],
    }),
    anchor: Nullable(
      Type.Object(
        {
          number: Type.Integer({ examples: [3] }),
          time: Timestamp,
          signed: Type.String({
            description: 'what retention dropped, as a compact JWS with type `audit-anchor+jwt`',
          }),
        },
        { title: 'AuditAnchor' },
      ),
    ),
    inconsistentLinks: Type.Boolean({
      description: 'an upgrade found links that do not follow from each other, and set them apart',
      examples: [false],
    }),
    links: Type.Array(AuditLink, { description: 'in order, without gaps' }),
    checkpoints: Type.Array(ChainCheckpoint, {
      description: 'those whose last link is among `links`, in order',
    }),
  },
  { title: 'AuditChain' },
);
export type AuditChain = Static<typeof AuditChain>;

export const AuditKey = Type.Object(
  {
    number: Type.Integer({ description: '1 for the first key', examples: [1] }),
    keyId: Type.String(),
    time: Timestamp,
    signed: Type.String({
      description:
        'the statement of the key, as a compact JWS with type `audit-key+jwt`: it has the public key and, with its hash, the statement of the key before',
    }),
  },
  { title: 'AuditKey' },
);
export type AuditKey = Static<typeof AuditKey>;
export const AuditKeyPage = PageOf(AuditKey, 'AuditKeyPage');
export const KeysQuery = Type.Object(pageQuery(pageSizes.audit));
export type KeysQuery = Static<typeof KeysQuery>;

export const AuditExportQuery = Type.Object(organizationFilter('all of them'));
export type AuditExportQuery = Static<typeof AuditExportQuery>;

export const AuditExport = Type.String({
  description:
    'one JSON object per line: the version, the keys, then each chain with its links and checkpoints; the last line is signed',
  examples: ['{"kind":"export","version":1}\n'],
});

/** Years that PostgreSQL and JavaScript spell alike. */
const Day = (meaning: string) =>
  Type.String({
    format: 'date',
    pattern: '^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$',
    description: `a day of UTC, such as 2030-01-31; ${meaning}`,
    examples: ['2030-01-31'],
  });

export const AuditArchive = Type.Object(
  {
    date: Day('that of the checkpoints in the file (`linkedOn`)'),
    events: Type.Integer({ description: 'how many events the file has', examples: [1_280] }),
    bytes: Type.Integer({ description: 'the size of the compressed file', examples: [182_044] }),
    sha256: Hash('the SHA-256 of the compressed file'),
    chainHead: Hash('the hash of the last link of the day; the file of the next day goes on from it'),
    createdAt: Timestamp,
  },
  { title: 'AuditArchive' },
);
export type AuditArchive = Static<typeof AuditArchive>;
export const AuditArchivePage = PageOf(AuditArchive, 'AuditArchivePage');

export const ArchivesQuery = Type.Object({
  ...pageQuery(pageSizes.audit),
  from: Type.Optional(Day('the first day')),
  to: Type.Optional(Day('the last day')),
  ...organizationFilter('its own'),
});
export type ArchivesQuery = Static<typeof ArchivesQuery>;

export const ArchiveParams = Type.Object({ date: Day('as the list has it') });
export const ArchiveFileQuery = Type.Object(organizationFilter('its own'));

/** The export of that day, compressed with Zstandard: `countersign audit verify` reads it as it is. */
export const AuditArchiveFile = Type.Unsafe<unknown>({ type: 'string', format: 'binary' });
