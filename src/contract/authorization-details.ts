/** Rich authorization requests (RFC 9396): the details of an action, of the types that a resource describes. */
import type { Static } from 'typebox';
import Type from './json-schema.ts';
import { limits } from './limits.ts';
import { Nullable } from './shapes.ts';

const { maxTypeLength, typesPerResource } = limits.authorizationDetails;

const TypeName = Type.String({
  minLength: 1,
  maxLength: maxTypeLength,
  pattern: '^[a-z0-9_.-]+$',
  description: 'a name of a-z, 0-9, ".", "_" and "-"',
  examples: ['payment'],
});

export const AuthorizationDetail = Type.Object(
  { type: TypeName },
  {
    title: 'AuthorizationDetail',
    additionalProperties: true,
    description: 'one action, valid by the schema of its type',
    examples: [{ type: 'payment', amount: 120, currency: 'EUR' }],
  },
);
export type AuthorizationDetail = Static<typeof AuthorizationDetail> & Readonly<Record<string, unknown>>;
export type AuthorizationDetails = AuthorizationDetail[];

export const AuthorizationDetailsOrNull = Nullable(
  Type.Array(AuthorizationDetail, { description: 'null: the scopes alone say what may be done' }),
);

const Description = Nullable(Type.String({ maxLength: 1_024, description: 'text for people' }));
const Schema = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'JSON Schema of the whole object, `type` included',
    examples: [
      {
        type: 'object',
        properties: { type: {}, amount: { type: 'number' }, currency: { type: 'string' } },
        required: ['amount', 'currency'],
        additionalProperties: false,
      },
    ],
  },
);

/** A type of detail that an API understands. */
export const AuthorizationDetailType = Type.Object(
  { type: TypeName, description: Description, schema: Schema },
  { title: 'AuthorizationDetailType', additionalProperties: false },
);
export type AuthorizationDetailType = Static<typeof AuthorizationDetailType>;

const list = {
  maxItems: typesPerResource,
  description: 'the kinds of action that a request for approval or consent can name exactly (RFC 9396)',
};
export const AuthorizationDetailTypes = Type.Array(AuthorizationDetailType, list);

export const NewAuthorizationDetailTypes = Type.Array(
  Type.Object(
    { type: TypeName, description: Type.Optional(Description), schema: Schema },
    { title: 'NewAuthorizationDetailType', additionalProperties: false },
  ),
  list,
);
export type NewAuthorizationDetailTypes = Static<typeof NewAuthorizationDetailTypes>;
