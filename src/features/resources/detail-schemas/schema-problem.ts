/**
 * Admits the JSON Schema of a tenant: small, well formed, complete in itself, and quick to evaluate. Its keywords are those of draft
 * 2020-12 that `validate` knows; those that it does not know are refused, and words that are no keywords mean nothing, as the standard
 * says.
 */

import { limits } from '../../../contract/limits.ts';
import { pointerTo } from '../../../kernel/http/input/authorization-details.ts';
import { PatternProblem, parsePattern, stepsOf } from './patterns.ts';
import { refPointer } from './references.ts';

const { maxSchemaBytes, maxSchemaDepth } = limits.authorizationDetails;
/** With every reference replaced by its schema: a few lines of them can double the work each. */
const maxEvaluations = 2_000;
/** For a text of 128 characters. */
const maxPatternSteps = 4_000_000;
const maxNestedValues = 32;

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for a schema that is admitted. The problem begins with the place, unless that is the whole schema. */
export function schemaProblem(schema: object): string | undefined {
  try {
    requireFinite(schema, 0);
    if (Buffer.byteLength(JSON.stringify(schema)) > maxSchemaBytes)
      refuse('', `may have at most ${maxSchemaBytes} bytes as JSON`);
    const schemas = new Map<string, Node>();
    collect(schemas, schema, '', 0);
    requireBounded(schemas);
    return undefined;
  } catch (error) {
    if (error instanceof SchemaProblem) return error.message;
    throw error;
  }
}

class SchemaProblem extends Error {}

function refuse(pointer: string, message: string): never {
  throw new SchemaProblem(pointer === '' ? message : `${pointer} ${message}`);
}

/** JSON.parse reads 1e999 as infinity. */
function requireFinite(value: unknown, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) refuse('', 'has a number that is too large');
  if (depth > maxNestedValues) refuse('', `is nested deeper than ${maxNestedValues} levels`);
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) requireFinite(inner, depth + 1);
}

/** A schema at its place. */
interface Node {
  /** The places of the schemas that are evaluated with it. */
  readonly parts: string[];
}

type KeywordRule = (given: unknown, place: Place) => void;

interface Place {
  readonly pointer: string;
  /** Collects a schema below; `isDefinition`: it is evaluated only by reference. */
  below(schema: unknown, pointer: string, isDefinition?: boolean): void;
  refersTo(pointer: string): void;
}

function collect(schemas: Map<string, Node>, schema: unknown, pointer: string, depth: number): void {
  if (depth > maxSchemaDepth) refuse(pointer, `is nested deeper than ${maxSchemaDepth} schemas`);
  const node: Node = { parts: [] };
  schemas.set(pointer, node);
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) refuse(pointer, 'must be a schema: an object, true or false');
  for (const [keyword, given] of Object.entries(schema)) {
    const rule = Object.hasOwn(rules, keyword) ? rules[keyword] : undefined;
    if (keyword === '$id' && pointer !== '') unsupported(given, { pointer: pointerTo(pointer, keyword) });
    rule?.(given, {
      pointer: pointerTo(pointer, keyword),
      below(inner, at, isDefinition = false) {
        if (!isDefinition) node.parts.push(at);
        collect(schemas, inner, at, depth + 1);
      },
      refersTo: (at) => node.parts.push(at),
    });
  }
}

/** Every reference has a target, none leads back to itself, and the whole is evaluated in a bounded number of steps. */
function requireBounded(schemas: ReadonlyMap<string, Node>): void {
  const costs = new Map<string, number | 'open'>();
  const costOf = (pointer: string): number => {
    const known = costs.get(pointer);
    if (known === 'open') return refuse(pointer, 'contains a $ref that leads back to it');
    if (known !== undefined) return known;
    costs.set(pointer, 'open');
    const cost = (schemas.get(pointer)?.parts ?? []).reduce((sum, part) => sum + costOf(part), 1);
    if (cost > maxEvaluations)
      refuse('', `has more than ${maxEvaluations} schemas once each $ref is replaced by its schema`);
    costs.set(pointer, cost);
    return cost;
  };
  for (const [pointer, { parts }] of schemas)
    for (const part of parts)
      if (!schemas.has(part)) refuse(pointer, 'has a $ref to a place that is no schema of it');
  for (const pointer of schemas.keys()) costOf(pointer);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const must =
  (isGood: (given: unknown) => boolean, message: string): KeywordRule =>
  (given, { pointer }) => {
    if (!isGood(given)) refuse(pointer, message);
  };

const isCount = (given: unknown): boolean => Number.isSafeInteger(given) && Number(given) >= 0;
const isTexts = (given: unknown): boolean =>
  Array.isArray(given) && given.every((item) => typeof item === 'string');
const typeNames = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'];
const isTypes = (given: unknown): boolean => {
  const names = Array.isArray(given) ? given : [given];
  return names.length > 0 && names.every((name) => typeNames.includes(name));
};

const number = must((given) => typeof given === 'number', 'must be a number');
const count = must(isCount, 'must be an integer of at least 0');
const text = must((given) => typeof given === 'string', 'must be a string');
const flag = must((given) => typeof given === 'boolean', 'must be true or false');

const one: KeywordRule = (given, { pointer, below }) => below(given, pointer);

const several: KeywordRule = (given, { pointer, below }) => {
  if (!Array.isArray(given) || given.length === 0) return refuse(pointer, 'must be a list of schemas');
  for (const [index, schema] of given.entries()) below(schema, pointerTo(pointer, index));
};

const named =
  (isDefinition: boolean): KeywordRule =>
  (given, { pointer, below }) => {
    if (!isObject(given)) return refuse(pointer, 'must be an object of schemas');
    for (const [name, schema] of Object.entries(given)) below(schema, pointerTo(pointer, name), isDefinition);
  };

const requirePattern = (pattern: string, pointer: string): void => {
  try {
    if (stepsOf(parsePattern(pattern), 128) > maxPatternSteps)
      refuse(pointer, 'can run long: it can match a text in too many ways');
  } catch (error) {
    if (error instanceof PatternProblem) refuse(pointer, error.message);
    throw error;
  }
};

const unsupported = (_: unknown, { pointer }: Pick<Place, 'pointer'>): never =>
  refuse(pointer, 'is not supported');

const rules: Readonly<Record<string, KeywordRule>> = {
  $ref(given, place) {
    const target = typeof given === 'string' ? refPointer(given) : undefined;
    if (target === undefined)
      return refuse(place.pointer, 'must be # and a JSON pointer into the schema itself');
    place.refersTo(target);
  },
  $schema: must(
    (given) => typeof given === 'string' && /^https?:\/\/json-schema\.org\//.test(given),
    'must be a draft of json-schema.org',
  ),
  $id: text,
  $comment: text,
  $defs: named(true),
  definitions: named(true),
  title: text,
  description: text,
  format: text,
  type: must(isTypes, `must be one or several of ${typeNames.join(', ')}`),
  enum: must((given) => Array.isArray(given) && given.length > 0, 'must be a list of values'),
  allOf: several,
  anyOf: several,
  oneOf: several,
  not: one,
  if: one,
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  then: one,
  else: one,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: must((given) => typeof given === 'number' && given > 0, 'must be a number above 0'),
  minLength: count,
  maxLength: count,
  pattern(given, { pointer }) {
    if (typeof given !== 'string') return refuse(pointer, 'must be a string');
    requirePattern(given, pointer);
  },
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  prefixItems: several,
  items: one,
  contains: one,
  minContains: count,
  maxContains: count,
  required: must(isTexts, 'must be a list of strings'),
  minProperties: count,
  maxProperties: count,
  properties: named(false),
  patternProperties(given, place) {
    named(false)(given, place);
    for (const pattern of Object.keys(given as Fields))
      requirePattern(pattern, pointerTo(place.pointer, pattern));
  },
  additionalProperties: one,
  propertyNames: one,
  dependentRequired: must(
    (given) => isObject(given) && Object.values(given).every(isTexts),
    'must be an object of lists of strings',
  ),
  dependentSchemas: named(false),
  ...Object.fromEntries(
    [
      '$anchor',
      '$dynamicAnchor',
      '$dynamicRef',
      '$recursiveAnchor',
      '$recursiveRef',
      '$vocabulary',
      'additionalItems',
      'dependencies',
      'unevaluatedItems',
      'unevaluatedProperties',
    ].map((keyword) => [keyword, unsupported]),
  ),
};
