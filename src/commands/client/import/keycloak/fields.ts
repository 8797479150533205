/** Reads JSON of another party field by field. A problem names the path of its field, such as `clients[3].clientId`. */
import { CommandError } from '../../../command-error.ts';
import { oneLine, quoted } from '../../../terminal.ts';

export interface Field {
  readonly path: string;
  readonly value: unknown;
}

/** Keycloak's own names have 255 at most, and the path of a group has several of them. */
const maxName = 1_024;
const maxDescription = 4_000;

export const problemAt = ({ path }: Pick<Field, 'path'>, problem: string): CommandError =>
  new CommandError(`${quoted(path)} ${problem}`);

function recordOf(field: Field): Readonly<Record<string, unknown>> {
  if (typeof field.value !== 'object' || field.value === null || Array.isArray(field.value))
    throw problemAt(field, 'must be an object');
  return field.value as Readonly<Record<string, unknown>>;
}

const pathOf = ({ path }: Field, key: string): string =>
  /^\w+$/.test(key) ? (path ? `${path}.${key}` : key) : `${path}[${JSON.stringify(key)}]`;

/** Undefined without the key, and for null. */
export function member(field: Field | undefined, key: string): Field | undefined {
  if (!field) return undefined;
  const record = recordOf(field);
  // Its own: `constructor` is a member of every object.
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return value === undefined || value === null ? undefined : { path: pathOf(field, key), value };
}

export function required(field: Field, key: string): Field {
  const found = member(field, key);
  if (!found) throw problemAt({ path: pathOf(field, key) }, 'is missing');
  return found;
}

export function members(field: Field | undefined): (readonly [key: string, value: Field])[] {
  if (!field) return [];
  return Object.entries(recordOf(field)).map(([key, value]) => {
    const path = pathOf(field, key);
    nameOf({ path, value: key });
    return [key, { path, value }] as const;
  });
}

export function items(field: Field | undefined): Field[] {
  if (!field) return [];
  if (!Array.isArray(field.value)) throw problemAt(field, 'must be a list');
  return field.value.map((value, index) => ({ path: `${field.path}[${index}]`, value }));
}

function textOf(field: Field): string {
  if (typeof field.value !== 'string') throw problemAt(field, 'must be a text');
  return field.value;
}

/** A hidden character could make a name look like another one. */
export function nameOf(field: Field): string {
  const text = textOf(field);
  if (text === '') throw problemAt(field, 'must not be empty');
  if (text.length > maxName) throw problemAt(field, `must have at most ${maxName} characters`);
  if (oneLine(text) !== text)
    throw problemAt(field, `has control characters or hidden characters: ${quoted(text)}`);
  return text;
}

export const optionalName = (field: Field | undefined): string | undefined =>
  field && field.value !== '' ? nameOf(field) : undefined;

export const namesOf = (field: Field | undefined): string[] => items(field).map(nameOf);

/** Undefined also for a text that cannot be shown on one line. */
export function descriptionOf(field: Field | undefined): string | undefined {
  const text = field && textOf(field).trim();
  if (!field || !text) return undefined;
  if (text.length > maxDescription) throw problemAt(field, `must have at most ${maxDescription} characters`);
  return oneLine(text) === text ? text : undefined;
}

export function isTrue(field: Field | undefined, byDefault = false): boolean {
  if (!field) return byDefault;
  if (typeof field.value !== 'boolean') throw problemAt(field, 'must be true or false');
  return field.value;
}

/** Keycloak writes the attributes of a client as texts. */
export const attributeOf = (attributes: Field | undefined, name: string): string | undefined => {
  const field = member(attributes, name);
  return field && textOf(field);
};
