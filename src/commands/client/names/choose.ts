/** The one of the listed things that a name means. */
import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';
import type { Entry } from '../api/table.ts';
import { suggestion } from '../apply/file/nearest.ts';
import { type Kind, namesOf } from './kinds.ts';

const maxShown = 20;

export interface Match {
  readonly id: string;
  /** What was found, for people: the noun, the name that tells it apart, the id and the organization. */
  readonly label: string;
  /** Where the name is free text: the organization that the thing belongs to. */
  readonly freeIn: string | undefined;
  /** The error for a free name that means a thing of another organization. */
  refusal(): CommandError;
}

/** Undefined when no entry has the name. A text with `@` is an e-mail address, where the things have one. */
export function findMatch(kind: Kind, text: string, entries: readonly Entry[]): Match | undefined {
  const fields = text.includes('@') && 'email' in kind.names ? ['email'] : Object.keys(kind.names);
  for (const field of fields) {
    const isFree = kind.free.includes(field);
    const same = entries.filter((entry) => isSame(entry[field], text, { field, isFree }));
    const alive = same.filter(({ status }) => !isEnded(status));
    // What has ended keeps its address or slug, but no free name.
    const found = isFree || alive.length > 0 ? alive : same;
    if (found.length > 1) throw ambiguous(kind, text, found);
    const [entry] = found;
    const id = entry?.[kind.id];
    if (entry === undefined || typeof id !== 'string') continue;
    const home = kind.home === undefined ? undefined : String(entry[kind.home]);
    return {
      id,
      label: labelOf(kind, id, entry),
      freeIn: isFree ? home : undefined,
      refusal: () =>
        new CommandError(
          `the only ${kind.noun} that is called ${quoted(text)} belongs to another organization, which chose the name; give its id if you mean it:\n${lineOf(kind, entry)}`,
          exitCodes.usage,
        ),
    };
  }
  return undefined;
}

function labelOf({ noun, names, home }: Kind, id: string, entry: Entry): string {
  const name = Object.keys(names).find((field) => entry[field]);
  const organization = home === undefined ? undefined : entry[home];
  return [
    `${noun}${name === undefined ? '' : ` ${quoted(entry[name])}`} (${quoted(id)})`,
    ...(typeof organization === 'string' ? [`of organization ${quoted(organization)}`] : []),
  ].join(' ');
}

const isEnded = (status: unknown): boolean => /^(decommissioned|deleted|withdrawn)$/.test(String(status));

/** `where` the entries are from, after "there is no agent x". */
export function requireMatch(
  kind: Kind,
  text: string,
  entries: readonly Entry[],
  where = 'that this account can see',
): Match {
  const match = findMatch(kind, text, entries);
  if (match !== undefined) return match;
  const known = entries.flatMap((entry) =>
    Object.keys(kind.names).flatMap((field) => (entry[field] ? String(entry[field]) : [])),
  );
  throw new CommandError(
    `there is no ${kind.noun} ${quoted(text)} ${where}; give its ${namesOf(kind)}${quoted(suggestion(text, known))}`,
    exitCodes.notFound,
  );
}

/** Addresses in any case, as the server compares them. Free names also in each form of Unicode, so that look-alikes count as the same. */
function isSame(
  value: unknown,
  text: string,
  { field, isFree }: { readonly field: string; readonly isFree: boolean },
): boolean {
  if (typeof value !== 'string') return false;
  if (isFree) return folded(value) === folded(text);
  return field === 'email' ? value.toLowerCase() === text.toLowerCase() : value === text;
}

const folded = (text: string): string => text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

const lineOf = ({ id, shows }: Kind, entry: Entry): string =>
  `  ${[entry[id], ...shows.map((field) => `${field}=${shown(entry[field])}`)].map(quoted).join('  ')}`;

function ambiguous(kind: Kind, text: string, found: readonly Entry[]): CommandError {
  const { noun } = kind;
  const lines = found.slice(0, maxShown).map((entry) => lineOf(kind, entry));
  const more = found.length - lines.length;
  return new CommandError(
    [
      `${found.length} things are called ${quoted(text)} where the command needs one ${noun}; give the id of one:`,
      ...lines,
      ...(more > 0 ? [`  and ${more} more`] : []),
    ].join('\n'),
    exitCodes.usage,
  );
}

const shown = (value: unknown): string => (value === null || value === undefined ? '-' : String(value));
