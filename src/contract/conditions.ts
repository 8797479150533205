/** Conditions on the claims of a token of another issuer: in trust policies, and in connections. kernel/conditions/ matches them. */
import type { Static } from 'typebox';
import Type from './json-schema.ts';
import { literals, Nullable } from './shapes.ts';

const Value = Type.String({ minLength: 1, maxLength: 1024 });

const operators = ['equals', 'in', 'glob', 'exists'] as const;
type Operator = (typeof operators)[number];

export const Condition = Type.Object(
  {
    claim: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'the name of a claim, or a JSON pointer to one inside another',
    }),
    operator: Type.Unsafe<Operator>({
      ...literals(operators),
      description:
        'exists: a claim of any type that is present and not null; the others compare text, numbers and booleans',
    }),
    values: Type.Optional(Type.Array(Value, { maxItems: 50, uniqueItems: true })),
  },
  { title: 'TrustCondition', additionalProperties: false },
);
export type Condition = Static<typeof Condition>;

export const Conditions = Type.Array(Condition, { maxItems: 20 });

/** One requirement, and whether a token meets it. */
export const Check = Type.Object(
  { name: Type.String(), ok: Type.Boolean(), expected: Type.String(), actual: Nullable(Type.String()) },
  { title: 'TrustCheck' },
);
export type Check = Static<typeof Check>;
