/** The names among the arguments and options of a command, and in a path of `countersign api`, replaced by ids. */
import { isUuid } from '../../../kernel/ids.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { ApiCommand } from '../api/api-commands.ts';
import type { Operation } from '../api/document.ts';
import type { Field } from '../api/fields.ts';
import { type Kind, kindOf } from './kinds.ts';
import type { IdOf } from './resolve.ts';

interface Words {
  readonly args: readonly string[];
  /** By flag, without the two hyphens. */
  readonly options: ReadonlyMap<string, unknown>;
}

/** The path first, from left to right, then the options: an organization among them says where the others are. */
export async function withIds(command: ApiCommand, { args, options }: Words, idOf: IdOf): Promise<Words> {
  const { path } = command.operation;
  const known: Record<string, string> = {};
  const resolved = new Map(options);
  const resolve = async (name: string, kind: Kind, text: string) => {
    const id = await idOf(kind, text, known);
    known[name] = id;
    return id;
  };
  const ids: string[] = [];
  for (const [index, { name }] of command.args.entries()) {
    const kind = kindOf(path, name);
    const text = args[index] ?? '';
    ids.push(kind ? await resolve(name, kind, text) : text);
  }
  for (const field of organizationsFirst(command.fields)) {
    const kind = kindOf(path, field.name);
    const given = options.get(field.flag);
    if (kind === undefined || given === undefined || given === false) continue;
    const each = (texts: readonly string[]) =>
      Promise.all(texts.map((text) => (isJson(text) ? text : idOf(kind, text.trim(), known))));
    if (field.kind === 'list')
      resolved.set(field.flag, await each((given as readonly string[]).flatMap(entriesIn)));
    // A filter by several ids is a text with commas.
    else if (field.name === 'ids') resolved.set(field.flag, (await each(entriesIn(String(given)))).join(','));
    else if (field.kind === 'text') resolved.set(field.flag, await resolve(field.name, kind, String(given)));
  }
  return { args: ids, options: resolved };
}

/** A name with a comma is in double quotes. */
const entriesIn = (text: string): string[] =>
  isJson(text)
    ? [text]
    : [...text.matchAll(/(?:^|,)(?:\s*"([^"]*)"\s*(?=,|$)|([^,]*))/g)].map(
        ([, inQuotes, plain]) => inQuotes ?? plain ?? '',
      );

const isJson = (text: string): boolean => /^\s*[@[{]/.test(text);

const organizationsFirst = (fields: readonly Field[]): Field[] =>
  fields.toSorted((a, b) => Number(/^org/.test(b.name)) - Number(/^org/.test(a.name)));

/** A segment that names nothing stays: the server may be newer, and have a route that we do not know. */
export async function withIdsInPath(
  path: string,
  operations: readonly Operation[],
  idOf: IdOf,
): Promise<string> {
  const segments = path.split('/');
  const isParameter = (segment: string) => segment.startsWith('{');
  const template = operations
    .map((operation) => operation.path.split('/'))
    .filter((one) => one.length === segments.length)
    .filter((one) => one.every((segment, index) => isParameter(segment) || segment === segments[index]))
    // Routes without a parameter come first, as in the server.
    .toSorted((a, b) => a.filter(isParameter).length - b.filter(isParameter).length)[0];
  const known: Record<string, string> = {};
  for (const [index, segment] of (template ?? []).entries()) {
    const name = segment.slice(1, -1);
    const kind = isParameter(segment) ? kindOf(template?.join('/') ?? '', name) : undefined;
    const text = decoded(segments[index] ?? '');
    if (kind === undefined || text === '' || isUuid(text)) continue;
    const id = await idOf(kind, text, known).catch((error) => {
      if (error instanceof CommandError && error.exitCode === exitCodes.notFound) return undefined;
      throw error;
    });
    if (id === undefined) return path;
    known[name] = id;
    segments[index] = id;
  }
  return segments.join('/');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
