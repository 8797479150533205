/**
 * Validation with Ajv. Each problem names the field and the expected value. It never repeats the value that was sent, except a wrong
 * enum value of a query, which is part of the URL.
 */
import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError } from '../../fail.ts';

export interface FieldProblem {
  readonly in: string;
  readonly field: string;
  readonly message: string;
}

const options = {
  allErrors: true,
  useDefaults: true,
  removeAdditional: false,
  verbose: true,
  strict: false,
  coerceTypes: false,
} as const;

const ajv = new Ajv(options);
// Default-exported CommonJS: the types and the runtime disagree on the shape of the import.
(addFormats as unknown as (ajv: Ajv, names: string[]) => void)(ajv, ['date', 'date-time', 'email', 'uri']);
// Only names the kind of id; its pattern is what is validated.
ajv.addFormat('uuid', true);

/** A type guard for values that we make ourselves. The schema is compiled at its first use. */
export function isShape<T>(schema: TSchema): (value: unknown) => value is T {
  let validate: ((value: unknown) => unknown) | undefined;
  return (value): value is T => {
    validate ??= ajv.compile(schema);
    return validate(value) === true;
  };
}

const maxReported = 20;

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  // Compiled at the first request of the route: compiling all of them would slow the start and cost memory.
  let compiled: ReturnType<typeof ajv.compile> | undefined;
  let lengthLimits: ReturnType<typeof ajv.compile> | undefined;
  const integers = httpPart === 'body' ? [] : fieldsOfType(schema, 'integer');
  const lists = httpPart === 'querystring' ? fieldsOfType(schema, 'array') : [];
  const part =
    httpPart === 'querystring' ? 'query' : httpPart === 'params' ? 'path' : (httpPart ?? 'request');
  return (data: unknown) => {
    parseIntegers(data as Record<string, unknown>, integers);
    listSingle(data as Record<string, unknown>, lists);
    compiled ??= ajv.compile(schema);
    if (httpPart === 'body') {
      lengthLimits ??= ajv.compile(lengthLimitsOf(schema));
      const errors = lengthLimits(data) ? [] : (lengthLimits.errors ?? []);
      const tooLong = errors.filter(({ keyword }) => keyword in oversize);
      if (tooLong.length > 0) return { error: validationError(part, describeProblems(part, tooLong)) };
    }
    const validate = compiled;
    if (validate(data)) return { value: data };
    const errors = validate.errors ?? [];
    return {
      error: validationError(
        part,
        describeProblems(part, errors),
        part === 'query' ? enumDetails(errors) : {},
      ),
    };
  };
};

/** Values above these sizes are refused before the full validation, unless the field allows more. */
const oversize = { maxLength: 1_000, maxItems: 100 } as const;

interface LengthLimits {
  readonly type?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, LengthLimits>>;
  readonly items?: LengthLimits;
  readonly anyOf?: readonly LengthLimits[];
}

/**
 * The schema reduced to its length limits. The full validation reports all problems at once, so it would also match an oversized
 * text against its pattern and compare all pairs of an oversized list, which can take minutes. So lengths are checked first.
 */
function lengthLimitsOf({ type, maxLength, maxItems, properties, items, anyOf }: LengthLimits): LengthLimits {
  return {
    ...(type !== undefined && { type }),
    ...(maxLength !== undefined && { maxLength: Math.max(maxLength, oversize.maxLength) }),
    ...(maxItems !== undefined && { maxItems: Math.max(maxItems, oversize.maxItems) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, lengthLimitsOf(field)]),
      ),
    }),
    ...(items && { items: lengthLimitsOf(items) }),
    ...(anyOf && { anyOf: anyOf.map(lengthLimitsOf) }),
  };
}

/** Query and path arrive as text. Only decimal digits are parsed: `0x10`, `1e2` and ` 1` stay text and are refused. */
const fieldsOfType = (schema: TSchema, wanted: string): string[] =>
  Object.entries<{ type?: string }>((schema as { properties?: Record<string, object> }).properties ?? {})
    .filter(([, { type }]) => type === wanted)
    .map(([name]) => name);

function parseIntegers(data: Record<string, unknown>, integers: readonly string[]): void {
  for (const name of integers) {
    const text = data[name];
    if (typeof text === 'string' && /^-?\d+$/.test(text)) data[name] = Number(text);
  }
}

/** A repeated parameter arrives as a list, and one that is given once as a text. */
function listSingle(data: Record<string, unknown>, lists: readonly string[]): void {
  for (const name of lists) if (typeof data[name] === 'string') data[name] = [data[name]];
}

/** The client chooses field names too: a long one is shortened in the response. */
export const shortName = (name: string) => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

/** For a wrong enum value in a query: the given and the supported values, as machine-readable details. */
function enumDetails(errors: readonly ErrorObject[]): Record<string, unknown> {
  const wrong = errors.find(({ keyword }) => keyword === 'enum');
  if (!wrong) return {};
  const { allowedValues } = wrong.params as { allowedValues: unknown[] };
  return {
    field: fieldName(wrong.instancePath),
    provided: shortName(String(wrong.data)),
    supported: allowedValues,
  };
}

export function validationError(
  part: string,
  problems: readonly FieldProblem[],
  more: Record<string, unknown> = {},
): ApiError {
  const sentence = problems
    .map(({ field, message }) => (field ? `${field} ${message}` : `the ${part} ${message}`))
    .join('; ');
  return new ApiError('VALIDATION_ERROR', { message: sentence, details: { fields: problems, ...more } });
}

function describeProblems(part: string, errors: readonly ErrorObject[]): FieldProblem[] {
  const problems = new Map<string, FieldProblem>();
  for (const error of errors) {
    const full = describeProblem(part, error);
    const problem = { ...full, field: shortName(full.field) };
    // One problem per field; the first is the most specific.
    if (!problems.has(problem.field)) problems.set(problem.field, problem);
    // A body can have a hundred thousand problems: describing all of them would block the event loop.
    if (problems.size >= maxReported) break;
  }
  const found = [...problems.values()];
  return found.filter(({ field, message }) => message !== mustBeNull || !found.some(isInside(field)));
}

const mustBeNull = 'must be of type null';

/** A field that is null or a list says nothing about null when something in its list is wrong. */
const isInside =
  (field: string) =>
  (other: FieldProblem): boolean =>
    other.field.startsWith(`${field}[`) || other.field.startsWith(`${field}.`);

function describeProblem(part: string, error: ErrorObject): FieldProblem {
  const at = fieldName(error.instancePath);
  const inside = (name: string) => (at ? `${at}.${name}` : name);
  switch (error.keyword) {
    case 'required':
      return { in: part, field: inside(error.params.missingProperty), message: 'is required' };
    case 'additionalProperties':
      return {
        in: part,
        field: inside(error.params.additionalProperty),
        message: 'is not a field of this operation',
      };
    case 'type':
      return { in: part, field: at, message: typeMessage(part, at, error) };
    default:
      return { in: part, field: at, message: constraintMessage(error) };
  }
}

function typeMessage(part: string, field: string, error: ErrorObject): string {
  if (part !== 'body' && Array.isArray(error.data)) return 'is given more than once';
  return field ? `must be of type ${error.params.type}` : 'is missing or not an object with fields';
}

/** Ajv's own texts are negative ("must NOT have fewer than 1 characters") or say little ("must match a schema in anyOf"). */
export function constraintMessage({
  keyword,
  params,
  parentSchema,
  propertyName,
  message,
}: ErrorObject): string {
  switch (keyword) {
    case 'minLength':
      return atLeast(params.limit, 'character');
    case 'maxLength':
      return atMost(params.limit, 'character');
    case 'minItems':
      return atLeast(params.limit, 'item');
    case 'maxItems':
      return atMost(params.limit, 'item');
    case 'minProperties':
      return atLeast(params.limit, 'field');
    case 'maxProperties':
      return atMost(params.limit, 'field');
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'uniqueItems':
      return 'must not list anything twice';
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'pattern':
    case 'format':
      return (formMessage(parentSchema) ?? message ?? 'is malformed') + wrongKey(propertyName);
    default:
      return 'is not valid';
  }
}

/** Of an object whose keys have a form: the key that does not. */
const wrongKey = (name: string | undefined): string =>
  name === undefined ? '' : `; ${JSON.stringify(shortName(name))} is no such key`;

/** A field may describe its purpose instead of its form: the forms that many fields share have names here. */
const namedForms: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  'date-time': 'an ISO 8601 time such as 2030-01-31T12:00:00Z',
};

/** A description begins with the form; the part after a semicolon is a remark. */
function formMessage({ format, description }: ErrorObject['parentSchema'] = {}): string | undefined {
  const form = namedForms[format] ?? description?.split('; ')[0];
  return form && `must be ${form}`;
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const atLeast = (count: number, noun: string): string =>
  count === 1 ? 'must not be empty' : `must have at least ${plural(count, noun)}`;

const atMost = (count: number, noun: string): string => `must have at most ${plural(count, noun)}`;

/** `/capabilities/0` → `capabilities[0]` */
const fieldName = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name ? `${name}.${part}` : part), '');
