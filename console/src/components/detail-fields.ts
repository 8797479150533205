/** The details of an action as rows of a table. */
import { visibleText } from './visible-text.ts';

export interface DetailField {
  /** The names on the way to the value. */
  readonly path: readonly string[];
  readonly value: string;
  /** The value is no text of the agent, but a number, or a word for nothing. */
  readonly kind: 'text' | 'number' | 'word';
}

/** One row for each value, whatever it is nested in. Plain values are before nested ones: their order in an object has no meaning. */
export function fieldsOf(value: unknown, path: readonly string[] = []): readonly DetailField[] {
  if (typeof value === 'string') return [{ path, value, kind: value === '' ? 'word' : 'text' }];
  if (typeof value === 'number') return [{ path, value: String(value), kind: 'number' }];
  if (typeof value === 'boolean') return [{ path, value: value ? 'yes' : 'no', kind: 'word' }];
  if (typeof value !== 'object' || value === null) return [{ path, value: 'nothing', kind: 'word' }];
  const entries: readonly [string, unknown][] = Array.isArray(value)
    ? value.map((one, index) => [String(index + 1), one])
    : Object.entries(value).toSorted(([, a], [, b]) => Number(isNested(a)) - Number(isNested(b)));
  if (entries.length === 0)
    return [{ path, value: Array.isArray(value) ? 'empty list' : 'empty', kind: 'word' }];
  return entries.flatMap(([name, one]) => fieldsOf(one, [...path, name]));
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Fills space without ink, but is no control character. */
const blanks = /[\u115f\u1160\u2800\u3164\uffa0]/gu;

/** Text with a sign in place of each character that cannot be seen, ends of lines included: nothing about an action may hide. */
export const exactText = (text: string): string =>
  visibleText(text).replace(blanks, '␣').replaceAll('\t', '⇥').replaceAll('\n', '↵\n');
