import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { Nullable, Timestamp, Witnessed } from '../../contract/shapes.ts';

const exampleTime = '2030-01-31T12:00:08.000Z';
const exampleWitness = 'witness.example/w1';

const AuditWitness = Type.Object(
  {
    name: Type.String({ description: 'the name of its key', examples: [exampleWitness] }),
    verifierKey: Type.String({
      description:
        'its verifier key, as this instance is configured. To rely on a witness, take the key from its operator',
      examples: [`${exampleWitness}+4f1e2a9b+BA…`],
    }),
    checkpointSize: Nullable(
      Type.Integer({
        description: 'the size of the newest checkpoint that it has cosigned',
        examples: [4821],
      }),
    ),
    time: Nullable(
      Type.Unsafe<string>({
        ...Timestamp,
        description: 'the time of that cosignature',
        examples: [exampleTime],
      }),
    ),
    failing: Nullable(
      Type.String({
        description: 'why it has not cosigned the last checkpoint; null while it cosigns',
        examples: ['it did not answer in time'],
      }),
    ),
  },
  { title: 'AuditWitness' },
);

export const AuditWitnesses = Type.Object(
  {
    quorum: Nullable(
      Type.Integer({
        description: 'how many witnesses are enough; null when none are configured',
        examples: [1],
      }),
    ),
    witnessed: Nullable(Witnessed),
    witnesses: Type.Array(AuditWitness),
    logKey: Nullable(
      Type.String({
        description:
          'the verifier key of the instance log, as at `/log/key`; null before its first checkpoint',
        examples: ['id.example.com/log+4f1e2a9b+AQ…'],
      }),
    ),
  },
  { title: 'AuditWitnesses' },
);
export type AuditWitnesses = Static<typeof AuditWitnesses>;
