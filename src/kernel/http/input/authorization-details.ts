/**
 * The parameter `authorization_details` (RFC 9396): a JSON array of actions, each with a type. Here only its shape is checked; the types
 * belong to resources.
 */

import { isDeepStrictEqual } from 'node:util';
import type { AuthorizationDetail, AuthorizationDetails } from '../../../contract/authorization-details.ts';
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { failToken } from '../../fail.ts';
import { duplicateField } from './duplicate-field.ts';

export interface DetailProblem {
  /** A JSON pointer from the array: "", "/0/amount". */
  readonly pointer: string;
  readonly message: string;
}

export type ReadDetails = { readonly details: AuthorizationDetails } | { readonly problem: DetailProblem };

const { maxItems, maxBytes, maxTypeLength } = limits.authorizationDetails;
const maxDepth = 16;

/** RFC 6901 §3. */
export const pointerTo = (parent: string, name: string | number): string =>
  `${parent}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** The description of the OAuth error. The client chooses the names in the pointer: other characters than RFC 6749 allows are encoded. */
export function describeProblem({ pointer, message }: DetailProblem): string {
  const place = pointer
    .split('/')
    .map(shortened)
    .join('/')
    .replace(/[^!#-[\]-~]/gu, encodeURIComponent)
    .slice(0, maxPlaceLength);
  return `${place === '' ? 'authorization_details' : place} ${message}`;
}

/** The description may be part of an address. */
const maxPlaceLength = 512;
const maxNameLength = 64;
const shortened = (name: string): string => {
  const characters = [...name];
  return characters.length <= maxNameLength ? name : `${characters.slice(0, maxNameLength).join('')}...`;
};

const problem = (pointer: string, message: string): ReadDetails => ({ problem: { pointer, message } });

export function parseAuthorizationDetails(text: string): ReadDetails {
  if (Buffer.byteLength(text) > maxBytes) return problem('', `may have at most ${maxBytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return problem('', 'must be a JSON array of objects');
  }
  if (!Array.isArray(value)) return problem('', 'must be a JSON array of objects');
  if (value.length === 0 || value.length > maxItems) return problem('', `must have 1 to ${maxItems} objects`);
  const found = value.map(itemProblem).find((each) => each !== undefined);
  if (found) return { problem: found };
  if (duplicateField(text) !== undefined) return problem('', 'has an object with the same field twice');
  // As it will be stored: without -0, and in the one spelling of numbers, which may be longer.
  const stored = JSON.stringify(value);
  if (Buffer.byteLength(stored) > maxBytes) return problem('', `may have at most ${maxBytes} bytes`);
  return { details: JSON.parse(stored) };
}

function itemProblem(item: unknown, index: number): DetailProblem | undefined {
  const pointer = `/${index}`;
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    return { pointer, message: 'must be an object' };
  const type = Object.hasOwn(item, 'type') ? (item as AuthorizationDetail).type : undefined;
  if (typeof type !== 'string' || type === '' || type.length > maxTypeLength)
    return { pointer: `${pointer}/type`, message: 'must be the name of a type' };
  return unsafePart(item, pointer, 1);
}

/** Values that PostgreSQL, or another reader of the token, could not take or would read differently. */
function unsafePart(value: unknown, pointer: string, depth: number): DetailProblem | undefined {
  if (typeof value === 'string') {
    const message = textProblem(value);
    return message === undefined ? undefined : { pointer, message };
  }
  if (typeof value === 'number')
    return isExact(value) ? undefined : { pointer, message: 'is a number too large to be exact' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > maxDepth) return { pointer, message: `is nested deeper than ${maxDepth} levels` };
  for (const [name, inner] of Object.entries(value)) {
    const message = name === '__proto__' ? 'is __proto__' : textProblem(name);
    const found =
      message === undefined
        ? unsafePart(inner, pointerTo(pointer, name), depth + 1)
        : { pointer, message: `has a field whose name ${message}` };
    if (found) return found;
  }
  return undefined;
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'contains a NUL character';
  return text.isWellFormed() ? undefined : 'contains half a surrogate pair, which is no text';
}

/** JSON.parse rounds larger integers, and turns 1e999 into infinity. */
const isExact = (value: number): boolean =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);

/** The form field of the token endpoint. Its limit is checked by `readNarrowing`, whose error says what is wrong. */
export const narrowingField = {
  authorization_details: Type.Optional(
    Type.String({
      description: 'JSON; of the details that were approved, those that the token is to carry (RFC 9396)',
    }),
  ),
};

/**
 * At the token endpoint: of the details that were approved, those that the client wants. Undefined: all. Each grant passes them to the
 * redemption of its chain, which compares. TokenError `invalid_authorization_details`.
 */
export function readNarrowing(
  form: Readonly<Record<string, string | undefined>>,
): AuthorizationDetails | undefined {
  const text = form.authorization_details;
  if (!text) return undefined;
  const read = parseAuthorizationDetails(text);
  return 'details' in read
    ? read.details
    : failToken('invalid_authorization_details', describeProblem(read.problem));
}

/** RFC 9396 §6: a client may leave out some of them, changes none, and gets none twice. TokenError `invalid_authorization_details`. */
export function narrowDetails(
  approved: AuthorizationDetails | null,
  wanted: AuthorizationDetails | undefined,
): AuthorizationDetails | null {
  const left = [...(approved ?? [])];
  for (const [index, one] of (wanted ?? []).entries()) {
    const found = left.findIndex((other) => isDeepStrictEqual(one, other));
    if (found < 0)
      failToken('invalid_authorization_details', `/${index} is none of the details that were approved`);
    left.splice(found, 1);
  }
  return wanted ?? approved;
}
