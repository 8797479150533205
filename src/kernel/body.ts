/** Reading what clients send, refusing what could trip anything behind it: deep nesting, NUL, lone surrogates, `__proto__`. */
import { ApiError } from './fail.ts';

const maxDepth = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

const refuse = (message: string): never => {
  throw new ApiError('VALIDATION_ERROR', {
    message,
    details: { fields: [{ in: 'body', field: '', message }] },
  });
};

/** An empty body is no body: clients often send the content type with nothing behind it. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  let text = '';
  try {
    text = utf8.decode(bytes);
  } catch {
    refuse('the body is not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    refuse('the body is not valid JSON');
  }
  refuseUnsafe(value, 'the body');
  return value;
}

/** Applied to bodies, queries and path parameters alike, before validation and so before SQL. */
export function refuseUnsafe(value: unknown, where: string, depth = 0): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) refuse(`${where} contains a NUL character`);
    if (!value.isWellFormed()) refuse(`${where} contains half a surrogate pair, which is no text`);
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= maxDepth) refuse(`${where} is nested deeper than ${maxDepth} levels`);
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') refuse(`${where} contains a field named __proto__`);
      refuseUnsafe(key, where, depth + 1);
      refuseUnsafe(inner, where, depth + 1);
    }
  }
}
