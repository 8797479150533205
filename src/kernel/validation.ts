/** Validation that explains: each problem names the field and says what was expected, without repeating what was sent. */
import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError } from './fail.ts';

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
} as const;

/** Bodies are taken as they are; query and path arrive as text, so numbers must be read from it. */
const bodies = new Ajv({ ...options, coerceTypes: false });
const texts = new Ajv({ ...options, coerceTypes: true });
// Default-exported CommonJS: the types and the runtime disagree on the shape of the import.
const formats = addFormats as unknown as (ajv: Ajv, names: string[]) => void;
for (const ajv of [bodies, texts]) formats(ajv, ['date-time', 'email', 'uri']);

const maxReported = 20;

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validate = (httpPart === 'body' ? bodies : texts).compile(schema);
  const part =
    httpPart === 'querystring' ? 'query' : httpPart === 'params' ? 'path' : (httpPart ?? 'request');
  return (data: unknown) => {
    if (validate(data)) return { value: data };
    return { error: validationError(part, explain(part, validate.errors ?? [])) };
  };
};

export function validationError(part: string, problems: readonly FieldProblem[]): ApiError {
  const sentence = problems
    .map(({ field, message }) => (field ? `${field} ${message}` : `the ${part} ${message}`))
    .join('; ');
  return new ApiError('VALIDATION_ERROR', { message: sentence, details: { fields: problems } });
}

function explain(part: string, errors: readonly ErrorObject[]): FieldProblem[] {
  const problems = new Map<string, FieldProblem>();
  for (const error of errors) {
    const problem = explainOne(part, error);
    // One sentence per field is enough, and the first is the most particular.
    if (!problems.has(problem.field)) problems.set(problem.field, problem);
    // A body can be wrong in a hundred thousand places: explaining them all would stall everyone else.
    if (problems.size >= maxReported) break;
  }
  return [...problems.values()];
}

function explainOne(part: string, error: ErrorObject): FieldProblem {
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
    case 'type':
      return {
        in: part,
        field: at,
        message: at ? `must be of type ${error.params.type}` : 'is missing or not a JSON object',
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
