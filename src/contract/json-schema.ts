/**
 * Builds JSON Schemas with TypeBox's types, without its code. We use 13 functions of a line or two, and the package would load 373 files
 * for them: 15 % of the CPU time of a start and 11 of 122 MB.
 */
import type TypeBox from 'typebox';

type Used =
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unsafe';

type Schema = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, Schema>>;

/** TypeBox's own mark. Not enumerable, so that it is neither in the document nor in a copy. */
const optional = '~optional';

const Optional = (schema: Schema) => Object.defineProperty({ ...schema }, optional, { value: true });

const ofType = (type: string) => (options?: Schema) => ({ type, ...options });

function ObjectOf(properties: Fields, options?: Schema) {
  const required = Object.keys(properties).filter((name) => !(optional in (properties[name] as Schema)));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

const builder: Record<Used, unknown> = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: ObjectOf,
  Optional,
  Partial: ({ properties }: { properties: Fields }) =>
    ObjectOf(Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, Optional(field)]))),
  /** Its keys are texts. */
  Record: (_key: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: ofType('string'),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
};

export default builder as unknown as Pick<typeof TypeBox, Used>;
