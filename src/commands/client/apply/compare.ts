/** Fields of the file and of the server: their differences, and changes by others since they were read. */
import { CommandError } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Lists are sets: their order has no meaning in any managed field. */
export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).sort().join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`);
  return `{${fields.sort().join()}}`;
}

/** Of the fields that the entry has; the others are left as they are. */
export const differences = (fields: readonly string[], wanted: object, live: object): FieldChange[] =>
  fields.flatMap((field) => {
    const to = (wanted as Fields)[field];
    const from = (live as Fields)[field];
    return to === undefined || isSame(from, to) ? [] : [{ field, from, to }];
  });

/** The fields of something new. */
export const additions = (fields: readonly string[], wanted: object): FieldChange[] =>
  fields.flatMap((field) => {
    const to = (wanted as Fields)[field];
    return to === undefined ? [] : [{ field, from: undefined, to }];
  });

export const pick = (fields: readonly string[], from: object): Fields =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = (from as Fields)[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );

export const newValues = (changes: readonly FieldChange[]): Fields =>
  Object.fromEntries(changes.map(({ field, to }) => [field, to]));

/** Refuses to overwrite a value that is neither the one that was read nor the wanted one. */
export function requireUnchanged(
  label: string,
  changes: readonly FieldChange[],
  current: object | undefined,
): void {
  if (current === undefined) throw changedError(label, 'it no longer exists');
  for (const { field, from, to } of changes) {
    const value = (current as Fields)[field];
    if (!isSame(value, from) && !isSame(value, to))
      // The URL of a webhook can hold a secret of its receiver.
      throw changedError(
        label,
        field === 'url' ? 'its url is another one' : `${field} was ${shown(from)} and is now ${shown(value)}`,
      );
  }
}

/** For a deletion: the thing is still as it was read. */
export function requireSame(label: string, fields: readonly string[], before: object, current: object): void {
  const changes = fields.map((field) => {
    const value = (before as Fields)[field];
    return { field, from: value, to: value };
  });
  requireUnchanged(label, changes, current);
}

export const changedError = (label: string, what: string): CommandError =>
  new CommandError(
    `${label} was changed by another client since the plan was made: ${what}. Run apply again`,
  );

export const shown = (value: unknown): string => {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'string') return quoted(value);
  if (!Array.isArray(value)) return quoted(typeof value === 'object' ? JSON.stringify(value) : value);
  return value.length === 0 ? 'none' : value.map(shown).join(', ');
};
