/**
 * Validates a value by a JSON Schema (draft 2020-12) that a tenant wrote, and that `schemaProblem` has admitted. It interprets the
 * schema: no code is made from the text of a tenant, fields are always own fields, and the steps are counted.
 */

import { isDeepStrictEqual } from 'node:util';
import { type DetailProblem, pointerTo } from '../../../kernel/http/input/authorization-details.ts';
import { isMultipleOf } from './multiple-of.ts';
import { type Part, parsePattern, stepsOf } from './patterns.ts';
import { resolveRef } from './references.ts';

export type JsonSchema = boolean | SchemaObject;
export type SchemaObject = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

/** The steps for the details of one request: far more than sensible schemas need, and some forty milliseconds. */
interface Budget {
  steps: number;
}
export const newBudget = (): Budget => ({ steps: 5_000_000 });

class OutOfSteps extends Error {}

/** The first problem; undefined for a valid value. */
export function validate(
  root: SchemaObject,
  value: unknown,
  pointer: string,
  budget: Budget,
): DetailProblem | undefined {
  const spend = (count: number) => {
    budget.steps -= count;
    if (budget.steps < 0) throw new OutOfSteps();
  };
  try {
    return createValidator(root, spend)(root, value, pointer);
  } catch (error) {
    if (error instanceof OutOfSteps) return { pointer, message: 'is too large to be checked' };
    throw error;
  }
}

type Check = (schema: JsonSchema, value: unknown, pointer: string) => DetailProblem | undefined;
/** The value of the keyword, the schema around it, and the value to check. */
type KeywordCheck = (
  given: never,
  value: never,
  pointer: string,
  schema: SchemaObject,
) => DetailProblem | string | undefined;

function createValidator(root: SchemaObject, spend: (steps: number) => void): Check {
  const patterns = new Map<string, { readonly part: Part; readonly regExp: RegExp }>();
  const patternOf = (text: string) => {
    const known = patterns.get(text);
    if (known) return known;
    spend(stepsPerSchema * text.length);
    const pattern = { part: parsePattern(text), regExp: new RegExp(text, 'u') };
    patterns.set(text, pattern);
    return pattern;
  };

  const matches = (pattern: string, text: string): boolean => {
    const { part, regExp } = patternOf(pattern);
    spend(stepsPerSchema + stepsOf(part, text.length));
    return regExp.test(text);
  };

  const isValid = (schema: JsonSchema, value: unknown, pointer: string) =>
    check(schema, value, pointer) === undefined;

  const firstOf = <T>(items: readonly T[], find: (item: T, index: number) => DetailProblem | undefined) => {
    for (const [index, item] of items.entries()) {
      const problem = find(item, index);
      if (problem) return problem;
    }
    return undefined;
  };

  const sameAs = (value: unknown) => {
    const size = JSON.stringify(value).length;
    return (other: unknown) => {
      spend(size);
      return isDeepStrictEqual(value, other);
    };
  };

  const ofAll: Record<string, KeywordCheck> = {
    $ref: (ref: string, value, pointer) => check(resolveRef(root, ref) as JsonSchema, value, pointer),
    type: (given: string | readonly string[], value) => {
      const types = typeof given === 'string' ? [given] : given;
      return types.some((type) => isOfType[type]?.(value)) ? undefined : `must be ${types.join(' or ')}`;
    },
    const: (given, value) => (sameAs(value)(given) ? undefined : 'must be the value that the type fixes'),
    enum: (given: readonly unknown[], value) =>
      given.some(sameAs(value)) ? undefined : 'must be one of the values that the type allows',
    allOf: (given: readonly JsonSchema[], value, pointer) =>
      firstOf(given, (schema) => check(schema, value, pointer)),
    anyOf: (given: readonly JsonSchema[], value, pointer) =>
      given.some((schema) => isValid(schema, value, pointer)) ? undefined : 'fits none of the allowed forms',
    oneOf: (given: readonly JsonSchema[], value, pointer) => {
      const count = given.filter((schema) => isValid(schema, value, pointer)).length;
      return count === 1 ? undefined : `fits ${count === 0 ? 'none' : 'more than one'} of the allowed forms`;
    },
    not: (given: JsonSchema, value, pointer) =>
      isValid(given, value, pointer) ? 'has a form that is not allowed' : undefined,
    if: (given: JsonSchema, value, pointer, schema) => {
      const branch = isValid(given, value, pointer) ? 'then' : 'else';
      return Object.hasOwn(schema, branch) ? check(schema[branch] as JsonSchema, value, pointer) : undefined;
    },
  };

  const ofNumbers: Record<string, KeywordCheck> = {
    minimum: (given: number, value: number) => (value >= given ? undefined : `must be at least ${given}`),
    maximum: (given: number, value: number) => (value <= given ? undefined : `must be at most ${given}`),
    exclusiveMinimum: (given: number, value: number) =>
      value > given ? undefined : `must be more than ${given}`,
    exclusiveMaximum: (given: number, value: number) =>
      value < given ? undefined : `must be less than ${given}`,
    multipleOf: (given: number, value: number) =>
      isMultipleOf(value, given) ? undefined : `must be a multiple of ${given}`,
  };

  const ofTexts: Record<string, KeywordCheck> = {
    minLength: (given: number, value: string) =>
      [...value].length >= given ? undefined : `must have at least ${given} characters`,
    maxLength: (given: number, value: string) =>
      [...value].length <= given ? undefined : `must have at most ${given} characters`,
    pattern: (given: string, value: string) =>
      matches(given, value) ? undefined : 'does not match the pattern of its type',
    format: (given: string, value: string) =>
      !Object.hasOwn(formats, given) || formats[given]?.(value)
        ? undefined
        : `must be of the format ${given}`,
  };

  const ofLists: Record<string, KeywordCheck> = {
    minItems: (given: number, value: readonly unknown[]) =>
      value.length >= given ? undefined : `must have at least ${given} items`,
    maxItems: (given: number, value: readonly unknown[]) =>
      value.length <= given ? undefined : `must have at most ${given} items`,
    uniqueItems: (given: boolean, value: readonly unknown[]) =>
      given && hasRepeated(value, spend) ? 'must not have the same item twice' : undefined,
    prefixItems: (given: readonly JsonSchema[], value: readonly unknown[], pointer) =>
      firstOf(value.slice(0, given.length), (item, index) =>
        check(given[index] as JsonSchema, item, pointerTo(pointer, index)),
      ),
    items: (given: JsonSchema, value: readonly unknown[], pointer, schema) => {
      const before = Object.hasOwn(schema, 'prefixItems') ? (schema.prefixItems as unknown[]).length : 0;
      return firstOf(value.slice(before), (item, index) =>
        check(given, item, pointerTo(pointer, before + index)),
      );
    },
    contains: (given: JsonSchema, value: readonly unknown[], pointer, schema) => {
      const count = value.filter((item, index) => isValid(given, item, pointerTo(pointer, index))).length;
      const atLeast = Object.hasOwn(schema, 'minContains') ? Number(schema.minContains) : 1;
      const atMost = Object.hasOwn(schema, 'maxContains') ? Number(schema.maxContains) : Infinity;
      return count >= atLeast && count <= atMost ? undefined : 'has too few or too many items of a kind';
    },
  };

  const ofObjects: Record<string, KeywordCheck> = {
    required: (given: readonly string[], value: Fields, pointer) => missing(given, value, pointer),
    minProperties: (given: number, value: Fields) =>
      Object.keys(value).length >= given ? undefined : `must have at least ${given} fields`,
    maxProperties: (given: number, value: Fields) =>
      Object.keys(value).length <= given ? undefined : `must have at most ${given} fields`,
    properties: (given: Readonly<Record<string, JsonSchema>>, value: Fields, pointer) =>
      firstOf(Object.entries(given), ([name, schema]) =>
        Object.hasOwn(value, name) ? check(schema, value[name], pointerTo(pointer, name)) : undefined,
      ),
    patternProperties: (given: Readonly<Record<string, JsonSchema>>, value: Fields, pointer) =>
      firstOf(Object.entries(given), ([pattern, schema]) =>
        firstOf(Object.entries(value), ([name, inner]) =>
          matches(pattern, name) ? check(schema, inner, pointerTo(pointer, name)) : undefined,
        ),
      ),
    additionalProperties: (given: JsonSchema, value: Fields, pointer, { properties, patternProperties }) => {
      const patterns = Object.keys((patternProperties as object | undefined) ?? {});
      return firstOf(Object.entries(value), ([name, inner]) =>
        Object.hasOwn((properties as object | undefined) ?? {}, name) ||
        patterns.some((pattern) => matches(pattern, name))
          ? undefined
          : check(given, inner, pointerTo(pointer, name)),
      );
    },
    propertyNames: (given: JsonSchema, value: Fields, pointer) =>
      firstOf(Object.keys(value), (name) => check(given, name, pointerTo(pointer, name))),
    dependentRequired: (given: Readonly<Record<string, readonly string[]>>, value: Fields, pointer) =>
      firstOf(Object.entries(given), ([name, others]) =>
        Object.hasOwn(value, name) ? missing(others, value, pointer) : undefined,
      ),
    dependentSchemas: (given: Readonly<Record<string, JsonSchema>>, value: Fields, pointer) =>
      firstOf(Object.entries(given), ([name, schema]) =>
        Object.hasOwn(value, name) ? check(schema, value, pointer) : undefined,
      ),
  };

  const checks = {
    number: new Map(Object.entries({ ...ofAll, ...ofNumbers })),
    string: new Map(Object.entries({ ...ofAll, ...ofTexts })),
    array: new Map(Object.entries({ ...ofAll, ...ofLists })),
    object: new Map(Object.entries({ ...ofAll, ...ofObjects })),
    other: new Map(Object.entries(ofAll)),
  };

  const check: Check = (schema, value, pointer) => {
    spend(stepsPerSchema);
    if (schema === true) return undefined;
    if (schema === false) return { pointer, message: 'is not allowed' };
    const keywords = checks[kindOf(value)];
    for (const keyword of Object.keys(schema)) {
      const found = keywords.get(keyword)?.(schema[keyword] as never, value as never, pointer, schema);
      if (found !== undefined) return typeof found === 'string' ? { pointer, message: found } : found;
    }
    return undefined;
  };

  return check;
}

/** A schema, or an item that is compared, costs as much as this many steps of a regular expression. */
const stepsPerSchema = 100;

function kindOf(value: unknown): 'number' | 'string' | 'array' | 'object' | 'other' {
  if (typeof value === 'number' || typeof value === 'string') return typeof value as 'number' | 'string';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'object' && value !== null ? 'object' : 'other';
}

function missing(names: readonly string[], value: Fields, pointer: string): DetailProblem | undefined {
  const name = names.find((each) => !Object.hasOwn(value, each));
  return name === undefined ? undefined : { pointer: pointerTo(pointer, name), message: 'is missing' };
}

/** Equal values have equal texts once their fields are in order. */
function hasRepeated(items: readonly unknown[], spend: (steps: number) => void): boolean {
  const texts = items.map((item) => {
    const text = JSON.stringify(item, (_, inner) => sorted(inner));
    spend(stepsPerSchema + 10 * text.length);
    return text;
  });
  return new Set(texts).size < items.length;
}

const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

/** Other formats only describe. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': (text) =>
    isDate(text.slice(0, 10)) &&
    /^[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/.test(text.slice(10)),
  time: (text) => /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => /^[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-[\]_a-z~]*$/.test(text) && URL.canParse(text),
  uuid: (text) => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
  ipv4: (text) => /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(text),
  ipv6: (text) => /^[\da-fA-F:.]{2,45}$/.test(text) && URL.canParse(`http://[${text}]/`),
};
