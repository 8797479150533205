/** Flags from schemas: one per field of the query, the headers and the body, in kebab case. */
import { closeSync, openSync, readSync } from 'node:fs';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { quoted } from '../../terminal.ts';
import type { Schema } from './document.ts';

export interface Field {
  /** As on the wire. */
  readonly name: string;
  readonly in: 'query' | 'header' | 'body';
  /** Without the two hyphens. */
  readonly flag: string;
  readonly kind: 'text' | 'integer' | 'boolean' | 'list' | 'map' | 'json' | 'secret';
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  readonly description: string;
  readonly choices: readonly string[];
  /** For a list of objects with one required field: a plain text becomes that field. */
  readonly itemField?: string;
  /** What the example of the operation, or of the schema, has. */
  readonly example?: unknown;
}

/** Options of every command; a field of the same name gets the name of its group in front. */
const reservedFlags = new Set([
  'profile',
  'url',
  'data',
  'json',
  'all',
  'yes',
  'output',
  'body',
  'columns',
  'help',
]);

/** These prove the client. The connection does that. */
const authenticationFields = /^client_(id|secret|assertion|assertion_type)$/;
const secretNames = /^(token|parentToken|clientSecret)$/;

export const isAuthentication = (name: string): boolean => authenticationFields.test(name);

const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

export function fieldOf(
  name: string,
  schema: Schema,
  options: {
    readonly in: Field['in'];
    readonly required: boolean;
    readonly group: string;
    readonly description?: string | undefined;
    readonly example?: unknown;
  },
): Field {
  const branches = schema.anyOf ?? [schema];
  const isNullable = branches.some(({ type }) => type === 'null');
  const main = branches.find(({ type }) => type === 'array') ?? branches.find(({ type }) => type !== 'null');
  const isSecret = options.in === 'body' && secretNames.test(name);
  const kind = isSecret ? 'secret' : kindOf(main ?? schema);
  const plain = reservedFlags.has(kebab(name)) ? `${singular(options.group)}-${kebab(name)}` : kebab(name);
  const itemField = itemFieldOf(main?.items);
  return {
    name,
    in: options.in,
    flag: isSecret ? `${plain}-file` : plain,
    kind,
    isNullable,
    isRequired: options.required,
    description: describe(options.description ?? schema.description ?? main?.description ?? '', main, kind),
    choices: (main?.enum ?? main?.items?.enum ?? []).map(String),
    ...(itemField !== undefined && { itemField }),
    example: options.example,
  };
}

export const singular = (group: string): string => group.replace(/ies$/, 'y').replace(/s$/, '');

function kindOf({ type, items, anyOf, additionalProperties: values }: Schema): Field['kind'] {
  if (type === 'boolean' || type === 'integer') return type;
  if (type === 'array') return items?.type === 'string' || itemFieldOf(items) !== undefined ? 'list' : 'json';
  if (type === 'object' && typeof values === 'object' && values.type === 'string') return 'map';
  return type === 'object' || anyOf ? 'json' : 'text';
}

function itemFieldOf(items: Schema | undefined): string | undefined {
  const { type, required = [], properties = {} } = items ?? {};
  const [only] = required;
  if (type !== 'object' || required.length !== 1 || only === undefined) return undefined;
  const { type: itemType, enum: choices } = properties[only] ?? {};
  return itemType === 'string' && !choices ? only : undefined;
}

function describe(text: string, schema: Schema | undefined, kind: Field['kind']): string {
  const sentence = text.replace(/\.$/, '');
  const { minimum, maximum } = schema ?? {};
  const range = minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : '';
  const form = {
    text: '',
    integer: range,
    boolean: '',
    list: 'commas between entries, or the option again for each',
    map: 'key:value with commas between entries, the option again for each, or JSON',
    json: 'JSON, or @file with JSON',
    secret: 'file that holds it, or - for standard input',
  }[kind];
  return [sentence, form].filter(Boolean).join('; ');
}

export interface Inputs {
  /** The text of a file, or of standard input for `-`. */
  read(path: string): string;
}

export const inputsOf = (io: Pick<Io, 'stdinDescriptor'>): Inputs => ({
  read(path) {
    const what = path === '-' ? 'standard input' : path;
    try {
      return readLimited(path, what, io.stdinDescriptor);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(`cannot read ${what}: ${(error as Error).message}`, exitCodes.usage);
    }
  },
});

/** At least as much as the server takes. */
const maxInputBytes = 1024 * 1024;

/** A device or a pipe may never end, and says nothing about its size. */
function readLimited(path: string, what: string, stdin: number): string {
  const descriptor = path === '-' ? stdin : openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxInputBytes + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > maxInputBytes)
      throw new CommandError(`${what} holds more than ${maxInputBytes} bytes (1 MiB)`, exitCodes.usage);
    return bytes.toString('utf8', 0, length);
  } finally {
    if (path !== '-') closeSync(descriptor);
  }
}

/** The value on the wire for that of an option, as commander gives it: text, a list of texts, true, or false for --no-. */
export function fieldValue(field: Field, given: unknown, inputs: Inputs): unknown {
  if (given === false && field.kind !== 'boolean') return null;
  switch (field.kind) {
    case 'boolean':
      return given;
    case 'integer':
      return /^-?\d+$/.test(String(given)) ? Number(given) : given;
    case 'list':
      return (given as readonly string[]).flatMap((text) => entriesOf(field, text, inputs));
    case 'map':
      return Object.assign({}, ...(given as readonly string[]).map((text) => mapOf(field, text, inputs)));
    case 'json':
      return parseJson(`--${field.flag}`, String(given), inputs);
    case 'secret':
      return inputs.read(String(given)).trim();
    default:
      return given;
  }
}

function entriesOf(field: Field, text: string, inputs: Inputs): unknown[] {
  if (/^(@|\[|\{)/.test(text.trim())) return [parseJson(`--${field.flag}`, text, inputs)].flat();
  const entries = text.split(',').map((entry) => entry.trim());
  const { itemField } = field;
  return entries
    .filter((entry) => entry !== '')
    .map((entry) => (itemField === undefined ? entry : { [itemField]: entry }));
}

function mapOf(field: Field, text: string, inputs: Inputs): unknown {
  if (/^(@|\{)/.test(text.trim())) return parseJson(`--${field.flag}`, text, inputs);
  const entries = text.split(',').map((entry) => entry.trim());
  return Object.fromEntries(
    entries
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [, key, value] = /^([^:]*):(.*)$/.exec(entry) ?? [];
        if (key === undefined || value === undefined)
          throw new CommandError(
            `--${field.flag} must be key:value; ${quoted(entry)} has no colon`,
            exitCodes.usage,
          );
        return [key, value];
      }),
  );
}

/** JSON, `@file`, or `-` for standard input. */
export function parseJson(option: string, text: string, inputs: Inputs): unknown {
  const json = text.startsWith('@') ? inputs.read(text.slice(1)) : text === '-' ? inputs.read('-') : text;
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new CommandError(`${option} is not valid JSON: ${(error as Error).message}`, exitCodes.usage);
  }
}
