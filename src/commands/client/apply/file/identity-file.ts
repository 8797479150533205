/** Reads identity files: parsed, checked against the schema, and joined. Every problem names its file, line and column. */
import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import {
  type Path,
  type Position,
  parseYaml,
  type YamlDocument,
  YamlProblem,
} from '../../../../adapters/yaml.ts';
import { constraintMessage } from '../../../../kernel/http/input/validation.ts';
import { packageRoot } from '../../../../kernel/package-root.ts';
import { CommandError } from '../../../command-error.ts';
import { quoted } from '../../../terminal.ts';
import { type Entries, type EntryKind, entryKinds, keyOfEmail } from './entries.ts';
import { nearest, suggestion } from './nearest.ts';
import type { Source } from './sources.ts';

export interface Entry<T> {
  readonly value: T;
  /** That paths in the entry are relative to. */
  readonly folder: string;
  /** `file:line:column` of the entry, or of a value in it. */
  at(...path: Path): string;
}

/** A kind is undefined when no file has its key: it is not managed then. */
export type IdentityFile = { readonly [K in EntryKind]?: readonly Entry<Entries[K]>[] };

/** The commands read this page of the reference when they run, so it is part of the package. */
const schemaFile = new URL('docs/reference/identity.schema.json', packageRoot);
const maxReported = 10;
/** A file with so many is read no further: its writer may be an attacker, and each problem takes time to describe. */
const maxFound = 100;

/** Reports problems together, so that a file is corrected in one go. */
export function createProblems() {
  const found = new Set<string>();
  let added = 0;
  const throwIfAny = (): void => {
    if (found.size === 0) return;
    const lines = [...found];
    const more = lines.length - maxReported;
    const shown = [...lines.slice(0, maxReported), ...(more > 0 ? [`and ${more} more problems`] : [])];
    throw new CommandError(shown.join('\n'));
  };
  return {
    add(at: string, message: string): void {
      found.add(`${at}: ${quoted(message)}`);
      added += 1;
      if (added >= maxFound) throwIfAny();
    },
    throwIfAny,
  };
}
export type Problems = ReturnType<typeof createProblems>;

export function readIdentity(sources: readonly Source[]): IdentityFile {
  const problems = createProblems();
  const check = createChecks();
  const kinds = new Map<EntryKind, Entry<unknown>[]>();
  let documents = 0;
  for (const source of sources) {
    const { folder = '.' } = source;
    for (const document of parse(source, problems)) {
      documents += 1;
      const at = (path: Path) => show(source, document.positionOf(path));
      const atKey = (path: Path) => show(source, document.keyPositionOf(path));
      for (const kind of kindsOf(document.value, at, atKey, problems)) {
        const entries = kinds.get(kind) ?? [];
        kinds.set(kind, entries);
        for (const [index, value] of (document.value as Record<EntryKind, unknown[]>)[kind].entries()) {
          const problem = check(kind, value);
          if (problem) report(problem, [kind, index], at, atKey, problems);
          else entries.push({ value, folder, at: (...path) => at([kind, index, ...path]) });
        }
      }
    }
  }
  problems.throwIfAny();
  const file = Object.fromEntries(kinds) as IdentityFile;
  refuseRepeated(file, problems);
  problems.throwIfAny();
  if (documents === 0)
    throw new CommandError(
      `${sources.map(({ name }) => name).join(', ')}: is empty; begin with "version: 1"`,
    );
  return file;
}

const show = ({ name }: Source, { line, column }: Position) => `${name}:${line}:${column}`;

function parse(source: Source, problems: Problems): YamlDocument[] {
  try {
    return parseYaml(source.text);
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
    problems.add(show(source, error.position), quoted(error.message));
    return [];
  }
}

type At = (path: Path) => string;

/** The kinds of a document whose value is a list. */
function kindsOf(value: unknown, at: At, atKey: At, problems: Problems): EntryKind[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.add(at([]), 'must be a map that begins with "version: 1"');
    return [];
  }
  const { version, ...rest } = value as Record<string, unknown>;
  if (version === undefined) problems.add(at([]), 'needs "version: 1", the version of this format');
  else if (version !== 1)
    problems.add(at(['version']), 'must be 1; this program knows no other version of the format');
  const known = ['version', '$schema', ...entryKinds];
  return Object.keys(rest).flatMap((key) => {
    const kind = entryKinds.find((name) => name === key);
    if (kind === undefined && key !== '$schema') problems.add(atKey([key]), unknownKey(key, known));
    if (kind === undefined) return [];
    if (Array.isArray(rest[kind])) return [kind];
    problems.add(atKey([kind]), `${kind} must be a list; an empty one is written as []`);
    return [];
  });
}

/** One problem of an entry: with all of them, a large list would be compared with itself before its length is refused. */
function createChecks(): (kind: EntryKind, value: unknown) => ErrorObject | undefined {
  const ajv = new Ajv({ strict: false, verbose: true });
  // Default-exported CommonJS: the types and the runtime disagree on the shape of the import.
  (addFormats as unknown as (ajv: Ajv, names: string[]) => void)(ajv, ['email']);
  const schema = { $id: 'identity', ...JSON.parse(readFileSync(schemaFile, 'utf8')) };
  ajv.addSchema(schema);
  const compiled = new Map<EntryKind, ValidateFunction>();
  return (kind, value) => {
    const validate = compiled.get(kind) ?? ajv.compile({ $ref: `identity#/definitions/${kind}` });
    compiled.set(kind, validate);
    return validate(value) ? undefined : validate.errors?.at(-1);
  };
}

function report(error: ErrorObject, entry: Path, at: At, atKey: At, problems: Problems): void {
  const path = [...entry, ...error.instancePath.split('/').slice(1).map(unescaped)];
  const field = String(path.findLast((step) => !/^\d+$/.test(String(step))));
  const { keyword, params, parentSchema, data } = error;
  if (keyword === 'additionalProperties' || keyword === 'required') {
    const { known, unknown, missing } = keysOf(error);
    for (const key of unknown) problems.add(atKey([...path, key]), unknownKey(key, known));
    const meant = unknown.map((key) => nearest(key, known));
    const absent = missing.filter((key) => !meant.includes(key));
    if (absent.length > 0)
      problems.add(at(path), `${absent.join(', ')} ${absent.length === 1 ? 'is' : 'are'} missing`);
  } else if (keyword === 'type') problems.add(at(path), `${field} ${typeMessage(String(params.type), data)}`);
  else if (keyword === 'propertyNames') {
    const { propertyNames } = parentSchema as { propertyNames: NonNullable<ErrorObject['parentSchema']> };
    const wrongKey: ErrorObject = { ...error, keyword: 'pattern', parentSchema: propertyNames };
    problems.add(atKey([...path, String(params.propertyName)]), `${field} ${messageOf(wrongKey)}`);
  } else problems.add(at(path), `${field} ${messageOf(error)}`);
}

/** All keys of a map that are wrong, although the check ends at the first. */
function keysOf({ parentSchema, data }: ErrorObject) {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = parentSchema as {
    properties?: object;
    required?: readonly string[];
    additionalProperties?: unknown;
  };
  const known = Object.keys(properties);
  const present = Object.keys(data as object);
  return {
    known,
    unknown: additionalProperties === false ? present.filter((key) => !known.includes(key)) : [],
    missing: required.filter((key) => !present.includes(key)),
  };
}

const unknownKey = (key: string, known: readonly string[]): string =>
  `unknown key ${quoted(key)}${suggestion(key, known) || `; known are ${known.join(', ')}`}`;

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'a map',
  string: 'a text',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
};

function typeMessage(wanted: string, value: unknown): string {
  const types = wanted.split(',').map((type) => typeNames[type] ?? type);
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return `must be ${types.join(' or ')}${types.includes('a text') && isPlain ? '; put it in quotes' : ''}`;
}

/** Descriptions are sentences of the OpenAPI document: "A semantic version such as 1.4.0." */
function messageOf(error: ErrorObject): string {
  const { description } = (error.parentSchema ?? {}) as { description?: string };
  if ((error.keyword !== 'pattern' && error.keyword !== 'format') || description === undefined)
    return constraintMessage(error);
  const form = description.split('; ')[0]?.replace(/\.$/, '') ?? '';
  return `must be: ${form.charAt(0).toLowerCase()}${form.slice(1)}`;
}

/** What identifies an entry by itself. Entries that name others are compared when those are known. */
function refuseRepeated({ organizations, agents, resources }: IdentityFile, problems: Problems): void {
  const once = <T>(entries: readonly Entry<T>[] = [], field: keyof T & string, key: (value: T) => string) => {
    const seen = new Map<string, string>();
    for (const { value, at } of entries) {
      const first = seen.get(key(value));
      if (first === undefined) seen.set(key(value), at(field));
      else problems.add(at(field), `${field} ${quoted(value[field])} is at ${first} already`);
    }
  };
  once(organizations, 'slug', ({ slug }) => slug);
  once(agents, 'email', ({ email }) => keyOfEmail(email));
  once(resources, 'identifier', ({ identifier }) => identifier);
}
