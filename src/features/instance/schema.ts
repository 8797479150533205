import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { literals, Nullable, Timestamp } from '../../contract/shapes.ts';

const keyStatuses = ['active', 'previous', 'next', 'retired'] as const;

const SigningKey = Type.Object(
  {
    keyId: Type.String(),
    algorithm: Nullable(
      Type.String({
        description: 'of its signatures: RS256, ES256 or EdDSA; null for a retired key',
        examples: ['ES256'],
      }),
    ),
    status: Type.Unsafe<(typeof keyStatuses)[number]>({
      ...literals(keyStatuses),
      description:
        '`active` signs; `previous` and `next` are published besides, before and after it in a rotation; `retired` is no longer published, but has signed a part of the audit log',
    }),
    signsSince: Nullable(
      Type.Unsafe<string>({ ...Timestamp, description: 'when it first signed the audit log; null before' }),
    ),
  },
  { title: 'InstanceSigningKey' },
);

const ConfigurationEntry = Type.Object(
  {
    name: Type.String({ description: 'the environment variable', examples: ['DATABASE_POOL_SIZE'] }),
    group: Type.String({ examples: ['Storage'] }),
    description: Type.String({ examples: ['database connections per process'] }),
    value: Nullable(Type.String({ description: 'null when it is not set, or hidden', examples: ['10'] })),
    hidden: Type.Boolean({ description: 'it is set, and may be a secret', examples: [false] }),
    isSet: Type.Boolean({ description: 'by the environment or by default', examples: [true] }),
  },
  { title: 'InstanceSetting' },
);

export const InstanceState = Type.Object(
  {
    version: Type.String({ description: 'of Countersign' }),
    node: Type.String({ description: 'the version of Node.js', examples: ['v24.11.0'] }),
    startedAt: Type.Unsafe<string>({
      ...Timestamp,
      description: 'when the process that answers was started',
    }),
    signingKeys: Type.Array(SigningKey, { description: 'the active one first' }),
    audit: Type.Object(
      {
        linking: literals(['ok', 'delayed'] as const),
        treeHead: Nullable(
          Type.Object(
            {
              number: Type.Integer({ description: 'how many there were so far', examples: [4821] }),
              time: Timestamp,
              size: Type.Integer({ description: 'how many organizations had new events', examples: [3] }),
              keyId: Type.String(),
            },
            { title: 'InstanceTreeHead' },
          ),
        ),
      },
      { title: 'InstanceAudit', description: 'the audit log, over all organizations' },
    ),
    configuration: Type.Array(ConfigurationEntry, { description: 'every variable, without secrets' }),
  },
  { title: 'Instance' },
);
export type InstanceState = Static<typeof InstanceState>;
