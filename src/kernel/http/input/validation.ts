/**
 * Validation that explains: each problem names the field and says what was expected, without repeating what was sent
 * (a wrong word in a query aside, which is no secret: it stood in the address).
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
(addFormats as unknown as (ajv: Ajv, names: string[]) => void)(ajv, ['date-time', 'email', 'uri']);

/** For what we have made ourselves and want to be sure of: whether a value is of this shape. Compiled at its first use. */
export function isShape<T>(schema: TSchema): (value: unknown) => value is T {
  let validate: ((value: unknown) => unknown) | undefined;
  return (value): value is T => {
    validate ??= ajv.compile(schema);
    return validate(value) === true;
  };
}

const maxReported = 20;

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  // Compiled when the route is first asked for: dozens at once would make the process start slower and stay larger.
  let compiled: ReturnType<typeof ajv.compile> | undefined;
  let sizes: ReturnType<typeof ajv.compile> | undefined;
  const integers = httpPart === 'body' ? [] : integerFields(schema);
  const part =
    httpPart === 'querystring' ? 'query' : httpPart === 'params' ? 'path' : (httpPart ?? 'request');
  return (data: unknown) => {
    parseIntegers(data as Record<string, unknown>, integers);
    compiled ??= ajv.compile(schema);
    if (httpPart === 'body') {
      sizes ??= ajv.compile(lengthLimitsOf(schema));
      const tooLong = sizes(data) ? [] : (sizes.errors ?? []).filter(({ keyword }) => keyword in oversize);
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

/** Longer than any honest mistake, where a field may not be even longer. */
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
 * Of a schema only what it says about lengths. All problems of a body are told at once, so a text that is too long would still be
 * tried against its pattern, and a list compared with itself, item by item: what takes no time at the lengths that are
 * allowed can take minutes at those that arrive. So lengths come first, and what is absurdly long is refused for that alone.
 */
function lengthLimitsOf({ type, maxLength, maxItems, properties, items, anyOf }: LengthLimits): LengthLimits {
  return {
    ...(type !== undefined && { type }),
    ...(maxLength !== undefined && { maxLength: Math.max(maxLength, oversize.maxLength) }),
    ...(maxItems !== undefined && { maxItems: Math.max(maxItems, oversize.maxItems) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, lengthLimitsOf(one)]),
      ),
    }),
    ...(items && { items: lengthLimitsOf(items) }),
    ...(anyOf && { anyOf: anyOf.map(lengthLimitsOf) }),
  };
}

/** Query and path arrive as text. Only plain decimal digits are a number: `0x10`, `1e2` and ` 1` are left to be refused. */
const integerFields = (schema: TSchema): string[] =>
  Object.entries<{ type?: string }>((schema as { properties?: Record<string, object> }).properties ?? {})
    .filter(([, { type }]) => type === 'integer')
    .map(([name]) => name);

function parseIntegers(data: Record<string, unknown>, integers: readonly string[]): void {
  for (const name of integers) {
    const text = data[name];
    if (typeof text === 'string' && /^-?\d+$/.test(text)) data[name] = Number(text);
  }
}

/** A field's name is the client's text, too: nobody needs the whole of a very long one back. */
export const shortName = (name: string) => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

/** A query parameter that must be one of a few words: what was given and what could have been, for a program to read. */
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
    // One sentence per field is enough, and the first is the most particular.
    if (!problems.has(problem.field)) problems.set(problem.field, problem);
    // A body can be wrong in a hundred thousand places: explaining them all would stall everyone else.
    if (problems.size >= maxReported) break;
  }
  return [...problems.values()];
}

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
    case 'enum':
      return {
        in: part,
        field: at,
        message: `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}`,
      };
    case 'pattern':
    case 'format': {
      const description = (error.parentSchema as { description?: string } | undefined)?.description;
      return {
        in: part,
        field: at,
        message: description ? `must be ${description}` : (error.message ?? 'is malformed'),
      };
    }
    case 'uniqueItems':
      return { in: part, field: at, message: 'must not list anything twice' };
    case 'type':
      if (part !== 'body' && Array.isArray(error.data))
        return { in: part, field: at, message: 'is given more than once' };
      return {
        in: part,
        field: at,
        message: at ? `must be of type ${error.params.type}` : 'is missing or not an object with fields',
      };
    default:
      return { in: part, field: at, message: error.message ?? 'is not valid' };
  }
}

/** `/capabilities/0` → `capabilities[0]` */
const fieldName = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name ? `${name}.${part}` : part), '');
