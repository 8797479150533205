/** The request of a command, from its arguments and options. It is validated as the server would validate it, before it is sent. */
import { validatorCompiler } from '../../../kernel/http/input/validation.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';
import type { ApiCommand } from './api-commands.ts';
import { fieldValue, type Inputs, parseJson } from './fields.ts';

export interface ApiRequest {
  readonly method: string;
  /** Relative to /api/v1. */
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** See `CallOptions` of the connection. */
  readonly own?: boolean;
  /** What the user wrote in place of ids, for a question about them. */
  readonly named?: string;
}

/** `options` by flag, without the two hyphens. */
export function buildRequest(
  command: ApiCommand,
  args: readonly string[],
  options: ReadonlyMap<string, unknown>,
  inputs: Inputs,
): ApiRequest {
  const { operation } = command;
  const ids = Object.fromEntries(command.args.map(({ name }, index) => [name, args[index]]));
  check(command, 'params', ids);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(ids[name])));
  const given = (place: string) =>
    Object.fromEntries(
      command.fields
        .filter((field) => field.in === place && options.has(field.flag))
        .map((field) => [field.name, fieldValue(field, options.get(field.flag), inputs)]),
    );
  const query = given('query');
  check(command, 'querystring', query);
  const headers = given('header') as Record<string, string>;
  check(command, 'headers', headers);
  const body = bodyOf(command, given('body'), options.get('body'), inputs);
  return {
    method: operation.method,
    path,
    query,
    headers,
    ...(body !== undefined && { body }),
  };
}

function bodyOf(
  command: ApiCommand,
  fields: Readonly<Record<string, unknown>>,
  text: unknown,
  inputs: Inputs,
): unknown {
  const { body } = command.operation;
  if (!body) return undefined;
  const whole = text === undefined ? {} : parseJson('--body', String(text), inputs);
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw new CommandError('--body must be a JSON object', exitCodes.usage);
  const value = { ...command.defaults, ...whole, ...fields, ...command.preset };
  const isEmpty = Object.keys(value).length === 0;
  if (isEmpty && command.operation.method === 'PATCH')
    throw new CommandError(
      `nothing to change: give at least one of ${command.fields.map(({ flag }) => `--${flag}`).join(', ')}`,
      exitCodes.usage,
    );
  if (isEmpty && !body.required) return undefined;
  check(command, 'body', value);
  return body.type === 'application/json' ? value : new URLSearchParams(value as Record<string, string>);
}

/** The same code and the same words as in the server, with flags in place of field names. */
function check(
  command: ApiCommand,
  part: 'params' | 'querystring' | 'headers' | 'body',
  value: Readonly<Record<string, unknown>>,
): void {
  const schema = part === 'body' ? command.operation.body?.schema : parameterSchema(command, part);
  const validate = validatorCompiler({
    schema: inOurWords(schema) as never,
    httpPart: part,
    method: command.operation.method,
    url: command.operation.path,
  }) as (data: unknown) => { readonly error?: Error };
  // Defaults are the server's.
  const { error } = validate(structuredClone(value));
  if (!error) return;
  const { fields = [] } = ((error as { details?: unknown }).details ?? {}) as {
    fields?: readonly { readonly field: string; readonly message: string }[];
  };
  const problems = fields.map(({ field, message }) => `${optionOf(command, part, field)} ${message}`);
  throw new CommandError(quoted(problems.join('; ') || error.message), exitCodes.usage);
}

function optionOf(command: ApiCommand, part: string, field: string): string {
  if (part === 'params') return field;
  const [, name = '', rest = ''] = /^(\w+)(.*)$/.exec(field) ?? [];
  const found = command.fields.find((one) => one.name === name && one.in === placeOf(part));
  return found ? `--${found.flag}${rest}` : field;
}

const placeOf = (part: string) => (part === 'querystring' ? 'query' : part === 'headers' ? 'header' : part);

const parameterSchema = ({ operation }: ApiCommand, part: string) => {
  const place = part === 'params' ? 'path' : placeOf(part);
  const parameters = operation.parameters.filter((parameter) => parameter.in === place);
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description }) => [name, { description, ...schema }]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
};

/** The document begins descriptions with a capital and ends them with a full stop; a message is the rest of a sentence. */
function inOurWords(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inOurWords);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [
      name,
      name === 'description' && typeof value === 'string' ? asPhrase(value) : inOurWords(value),
    ]),
  );
}

const asPhrase = (sentence: string): string =>
  sentence.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase()).replace(/\.$/, '');
