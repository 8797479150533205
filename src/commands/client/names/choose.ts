/** Which of the listed things a name means. */
import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';
import type { Entry } from '../api/table.ts';
import { suggestion } from '../apply/file/nearest.ts';
import { type Kind, namesOf } from './kinds.ts';

const maxShown = 20;

/** Undefined when no entry has the name. */
export function findId(kind: Kind, text: string, entries: readonly Entry[]): string | undefined {
  for (const field of Object.keys(kind.names)) {
    const found = entries.filter((entry) => isSame(entry[field], text, field));
    if (found.length > 1) throw ambiguous(kind, text, found);
    const id = found[0]?.[kind.id];
    if (typeof id === 'string') return id;
  }
  return undefined;
}

/** `where` the entries are from, after "there is no agent x". */
export function requireId(
  kind: Kind,
  text: string,
  entries: readonly Entry[],
  where = 'that this account can see',
): string {
  const id = findId(kind, text, entries);
  if (id !== undefined) return id;
  const known = entries.flatMap((entry) =>
    Object.keys(kind.names).map((field) => String(entry[field] ?? '')),
  );
  throw new CommandError(
    `there is no ${kind.noun} ${quoted(text)} ${where}; give its ${namesOf(kind)}${quoted(suggestion(text, known))}`,
    exitCodes.notFound,
  );
}

/** As the server compares them: addresses in any case. */
const isSame = (value: unknown, text: string, field: string): boolean =>
  field === 'email' ? String(value).toLowerCase() === text.toLowerCase() : value === text;

function ambiguous({ noun, id, shows }: Kind, text: string, found: readonly Entry[]): CommandError {
  const lines = found
    .slice(0, maxShown)
    .map((entry) =>
      [entry[id], ...shows.map((field) => `${field}=${shown(entry[field])}`)].map(quoted).join('  '),
    );
  const more = found.length - lines.length;
  return new CommandError(
    [
      `${found.length} things are called ${quoted(text)} where the command needs one ${noun}; give the id of one:`,
      ...lines.map((line) => `  ${line}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ].join('\n'),
    exitCodes.usage,
  );
}

const shown = (value: unknown): string => (value === null || value === undefined ? '-' : String(value));
