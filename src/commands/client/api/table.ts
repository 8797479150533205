/** Answers for people: rows as a table, one entry as a list of its fields. Text of tenants is made safe. */

import type { Io } from '../../io.ts';
import { oneLine, print, printHeading, quoted } from '../../terminal.ts';

export type Entry = Readonly<Record<string, unknown>>;

/** Undefined when output is no terminal: nothing is cut then. */
type Width = number | undefined;

const gap = '  ';
const narrowest = 8;
/** On a terminal these give way first: they are the same in all rows, or say little. */
const lessImportant = /^(organization_?id|tenant_?id|updated_?at)$/i;
const moreImportant = /^(email|status|outcome|timestamp|active|action|name)$/;

export function printRows(io: Io, rows: readonly Entry[], names: readonly string[], width: Width): void {
  const columns = names
    .map((name) => ({ name, cells: rows.map((row) => cellOf(row[name])) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const shown = fit(columns, width);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => pad(cell, shown[index]?.width ?? 0, index === shown.length - 1))
      .join(gap)
      .trimEnd();
  printHeading(io, line(shown.map(({ name }) => name)));
  for (let row = 0; row < rows.length; row += 1) print(io, line(shown.map(({ cells }) => cells[row] ?? '')));
}

interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

/** An id is of use in full only; an address can be recognized by its beginning. */
const usableWidth = ({ name, width }: { readonly name: string; readonly width: number }): number =>
  Math.min(width, name === 'email' ? 24 : 36);

/** The columns that fit into the terminal, each at least as wide as it must be to be of use. */
function fit(columns: readonly Column[], available: Width): (Column & { readonly width: number })[] {
  const wanted = columns.map((column) => {
    const width = Math.max(...[column.name, ...column.cells].map(widthOf));
    return { ...column, width, usable: usableWidth({ name: column.name, width }) };
  });
  if (available === undefined) return wanted;
  const total = (list: readonly { width: number }[]) =>
    list.reduce((sum, { width }) => sum + width + gap.length, -gap.length);
  const kept = [...wanted];
  while (kept.length > 1 && total(kept.map(({ usable }) => ({ width: usable }))) > available) {
    kept.splice(leastImportant(kept), 1);
  }
  // The column with the most to spare gives way, one character at a time.
  for (let over = total(kept) - available; over > 0; over -= 1) {
    const widest = kept.reduce((one, other) =>
      other.width - other.usable > one.width - one.usable ? other : one,
    );
    if (widest.width <= narrowest) break;
    widest.width -= 1;
  }
  return kept;
}

/** Never the first: it is the id. */
function leastImportant(columns: readonly Column[]): number {
  const last = (isLeast: (name: string) => boolean) =>
    columns.findLastIndex(({ name }, index) => index > 0 && isLeast(name));
  const found = [last((name) => lessImportant.test(name)), last((name) => !moreImportant.test(name))];
  return found.find((index) => index > 0) ?? columns.length - 1;
}

export function printEntry(io: Io, entry: Entry, width: Width): void {
  const fields = Object.entries(entry).flatMap(([name, value]) => flattened(name, value));
  const nameWidth = Math.max(
    0,
    ...fields.filter(([, value]) => !isBlock(value)).map(([name]) => widthOf(name)),
  );
  for (const [name, value] of fields) {
    if (isBlock(value)) printBlock(io, name, value, width);
    else
      print(
        io,
        `${pad(name, nameWidth)}${gap}${cut(cellOf(value), width && width - nameWidth - gap.length)}`.trimEnd(),
      );
  }
}

/** `limits: {maxAgents: 5}` is the field `limits.maxAgents`. */
const flattened = (name: string, value: unknown): [string, unknown][] =>
  isEntry(value) && Object.values(value).every((inner) => !isBlock(inner))
    ? Object.entries(value).map(([key, inner]) => [oneLine(`${name}.${key}`), inner])
    : [[oneLine(name), value]];

/** A value that needs lines of its own. */
const isBlock = (value: unknown): boolean => isRows(value) || isEntry(value);

function printBlock(io: Io, name: string, value: unknown, width: Width): void {
  printHeading(io, `${name}:`);
  const isTable =
    Array.isArray(value) && value.every((row) => isEntry(row) && !Object.values(row).some(isBlock));
  if (isTable) printRows(io, value, [...new Set(value.flatMap((row) => Object.keys(row)))], width);
  else for (const text of JSON.stringify(value, null, 2).split('\n')) print(io, `${gap}${text}`);
}

export const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isRows = (value: unknown): boolean =>
  Array.isArray(value) && value.some((item) => typeof item === 'object' && item !== null);

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value) && !isRows(value)) return value.map(oneLine).join(', ');
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : value);
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const widthOfCharacter = (character: string): number =>
  /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;

/** In columns of a terminal. */
export const widthOf = (text: string): number =>
  /^[\x20-\x7e]*$/.test(text)
    ? text.length
    : [...text].reduce((sum, character) => sum + widthOfCharacter(character), 0);

const pad = (text: string, width: number, isLast = false): string => {
  const short = cut(text, width);
  return isLast ? short : short + ' '.repeat(Math.max(0, width - widthOf(short)));
};

function cut(text: string, width: Width): string {
  if (width === undefined || widthOf(text) <= width) return text;
  let kept = '';
  let taken = 0;
  for (const character of text) {
    taken += widthOfCharacter(character);
    if (taken > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

export interface List {
  /** Undefined when the answer itself is the list. */
  readonly name?: string;
  readonly rows: readonly Entry[];
}

/** The entry of an answer that is a list, if it has one: `data`, or the only list in it. */
export function rowsIn(answer: unknown): List | undefined {
  if (Array.isArray(answer)) return { rows: answer };
  if (!isEntry(answer)) return undefined;
  const lists = Object.entries(answer).filter(([, value]) => Array.isArray(value));
  const found = lists.find(([name]) => name === 'data') ?? (isListAnswer(answer) ? lists[0] : undefined);
  return found && { name: found[0], rows: found[1] as Entry[] };
}

/** `{deliveries, total, limit, offset}`, `{controls}` */
const isListAnswer = (answer: Entry): boolean =>
  Object.entries(answer).every(
    ([name, value]) =>
      isRows(value) ||
      (Array.isArray(value) && value.length === 0) ||
      /^(total|limit|offset|page|tier)$/.test(name),
  );

export const describeUnknownColumns = (unknown: readonly string[], known: readonly string[]): string =>
  `there is no column ${unknown.map((name) => quoted(name)).join(', ')}; there are ${known.map((name) => quoted(name)).join(', ')}`;
