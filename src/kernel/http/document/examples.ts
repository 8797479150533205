/**
 * Examples of bodies, composed from their schemas. A value comes from the `examples` of the schema, otherwise from its `const`,
 * `enum` or `default`, otherwise from the table of field names in contract/examples.ts.
 */
import { exampleTime, fieldExamples } from '../../../contract/examples.ts';

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/**
 * A response shows every field. A request shows the required fields and the optional ones that have `examples`, so that it works
 * as it stands; without any of these, the first field.
 */
export type Direction = 'request' | 'response';

export interface Example {
  readonly value: unknown;
  /** Fields that have no example value, as paths. */
  readonly missing: readonly string[];
}

export function exampleOf(schema: Schema, direction: Direction): Example {
  const missing: string[] = [];
  const value = exampleValue(schema, { name: '', path: '', direction, missing });
  return { value, missing };
}

interface Place {
  readonly name: string;
  readonly path: string;
  readonly direction: Direction;
  readonly missing: string[];
}

function exampleValue(schema: Schema, place: Place): unknown {
  if (schema.examples) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const named = fieldExamples[place.name];
  if (named !== undefined && accepts(schema, named)) return named;
  if (schema.default !== undefined) return schema.default;
  if (schema.anyOf) return anyOf(schema.anyOf, place);
  switch (schema.type) {
    case 'object':
      return objectOf(schema, place);
    case 'array':
      return schema.items
        ? [
            exampleValue(schema.items, {
              ...place,
              name: place.name.replace(/s$/, ''),
              path: `${place.path}[0]`,
            }),
          ]
        : [];
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'null':
      return null;
  }
  if (schema.format === 'date-time') return exampleTime;
  if (schema.format === 'uuid') return fieldExamples.id;
  if (schema.format === 'binary') return undefined;
  place.missing.push(place.path || 'the body');
  return undefined;
}

/** An optional time is usually one that has not come: revoked, delivered, used. */
function anyOf(variants: readonly Schema[], place: Place): unknown {
  const [first = {}, second] = variants;
  return first.format === 'date-time' && second?.type === 'null' ? null : exampleValue(first, place);
}

function objectOf({ properties = {}, required = [] }: Schema, place: Place): Record<string, unknown> {
  const all = Object.entries(properties);
  const shown = all.filter(
    ([name, field]) =>
      place.direction === 'response' ||
      field.examples !== undefined ||
      (required.includes(name) && field.default === undefined),
  );
  return Object.fromEntries(
    (shown.length > 0 ? shown : all.slice(0, 1)).map(([name, field]) => [
      name,
      exampleValue(field, { ...place, name, path: place.path ? `${place.path}.${name}` : name }),
    ]),
  );
}

function accepts({ type, anyOf, items }: Schema, value: unknown): boolean {
  if (anyOf) return anyOf.some((variant) => accepts(variant, value));
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array' && items !== undefined && accepts(items, value[0]);
  return type === (typeof value === 'number' && type === 'integer' ? 'integer' : typeof value);
}
