/** The parts of a compact JWS. */

/** Each byte string has one spelling: no padding, and no bits beyond the last byte. A hash of the text names the statement. */
const base64url = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

const ascii = /^[\0-\x7f]*$/;
const decoder = new TextDecoder();

export function decode(part: string): Uint8Array<ArrayBuffer> | undefined {
  const binary = binaryOf(part);
  return binary === undefined ? undefined : bytesOf(binary);
}

/** The bytes as the characters of a string. */
const binaryOf = (part: string): string | undefined =>
  part !== '' && base64url.test(part)
    ? atob(/[-_]/.test(part) ? part.replaceAll('-', '+').replaceAll('_', '/') : part)
    : undefined;

function bytesOf(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** The JSON object in a part: 0 is the header, 1 the payload. */
export function parsePart(text: string, part: 0 | 1): Readonly<Record<string, unknown>> | undefined {
  const binary = binaryOf(text.split('.', 2)[part] ?? '');
  if (binary === undefined) return undefined;
  try {
    const value = JSON.parse(ascii.test(binary) ? binary : decoder.decode(bytesOf(binary)));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
