/**
 * Parses request bodies. Refuses input that later code could mishandle: deep nesting, NUL, lone surrogates, `__proto__`, and
 * duplicate fields, of which a parser would silently drop one.
 */
import { ApiError } from '../../fail.ts';
import type { RouteEntry } from '../route.ts';
import { duplicateField } from './duplicate-field.ts';
import { shortName, validationError } from './validation.ts';

const maxDepth = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

type Part = 'path' | 'query' | 'body';

const refuse = (part: Part, message: string): never => {
  throw validationError(part, [{ in: part, field: '', message }]);
};

function readText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return refuse('body', 'is not valid UTF-8');
  }
}

/** An empty body counts as no body: clients often send the content type without one. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = readText(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    refuse('body', 'is not valid JSON');
  }
  refuseUnsafe(value, 'body');
  // A text without duplicates is usually the same after parsing, which costs a quarter of the scan.
  const repeated = JSON.stringify(value) === text ? undefined : duplicateField(text);
  if (repeated !== undefined) refuseDuplicateFields([repeated]);
  return value;
}

/**
 * Parses a form; a repeated field becomes a list. `split` and `indexOf` are native: looking at each character of a token in
 * JavaScript would cost as much as the whole introspection of it.
 */
export function readForm(bytes: Buffer): Record<string, string | string[]> {
  const form: Record<string, string | string[]> = Object.create(null);
  for (const pair of readText(bytes).split('&')) {
    if (pair === '') continue;
    const end = pair.indexOf('=');
    const name = decodeFormText(end < 0 ? pair : pair.slice(0, end));
    const value = end < 0 ? '' : decodeFormText(pair.slice(end + 1));
    const earlier = form[name];
    if (earlier === undefined) form[name] = value;
    else if (typeof earlier === 'string') form[name] = [earlier, value];
    else earlier.push(value);
  }
  return form;
}

function decodeFormText(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return refuse('body', 'is not valid percent-encoded UTF-8');
  }
}

/** For bodies, queries and path parameters, before validation and SQL. */
export function refuseUnsafe(value: unknown, part: Part, depth = 0): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) refuse(part, 'contains a NUL character');
    if (!value.isWellFormed()) refuse(part, 'contains half a surrogate pair, which is no text');
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= maxDepth) refuse(part, `is nested deeper than ${maxDepth} levels`);
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') refuse(part, 'contains a field named __proto__');
      refuseUnsafe(key, part, depth + 1);
      refuseUnsafe(inner, part, depth + 1);
    }
  }
}

/** The router refuses a path with invalid percent-encoding; the query parser does not. */
export function refuseBadEncoding(url: string): void {
  const start = url.indexOf('?');
  if (start < 0) return;
  try {
    decodeURIComponent(url.slice(start));
  } catch {
    refuse('query', 'is not valid percent-encoded UTF-8');
  }
}

/** RFC 6749 §3.2: a parameter must not be given more than once, known or not. */
export function refuseDuplicates(form: unknown): void {
  const repeated = Object.entries(form ?? {}).filter(([, value]) => Array.isArray(value));
  if (repeated.length > 0) refuseDuplicateFields(repeated.slice(0, 5).map(([name]) => name));
}

function refuseDuplicateFields(repeated: readonly string[]): never {
  const message = 'is given more than once';
  throw validationError(
    'body',
    repeated.map((name) => ({ in: 'body', field: shortName(name), message })),
  );
}

/** A body that the operation ignores is refused. An empty object passes: many clients send one instead of no body. */
export function refuseUnexpectedBody(body: unknown, entry: RouteEntry | undefined): void {
  if (!entry || entry.schema.body || entry.accepts === 'raw' || body === undefined) return;
  if (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0)
    return;
  throw validationError('body', [
    { in: 'body', field: '', message: 'must be left out: this operation takes none' },
  ]);
}

/** Immutable fields get their own error instead of "unknown field". */
export function refuseImmutable(body: unknown, immutable: readonly string[] = []): void {
  if (typeof body !== 'object' || body === null) return;
  const fields = immutable.filter((field) => field in body);
  if (fields.length === 0) return;
  throw new ApiError('IMMUTABLE_FIELD', {
    message: `${fields.join(', ')} cannot be changed after creation.`,
    details: { fields },
  });
}
