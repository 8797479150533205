/** The parts of a compact JWS. */

/** Each byte string has one spelling: no padding, and no bits beyond the last byte. A hash of the text names the statement. */
const base64url = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

export function decode(part: string): Uint8Array<ArrayBuffer> | undefined {
  if (part === '' || !base64url.test(part)) return undefined;
  const binary = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** The JSON object in a part: 0 is the header, 1 the payload. */
export function parsePart(text: string, part: 0 | 1): Readonly<Record<string, unknown>> | undefined {
  const bytes = decode(text.split('.', 2)[part] ?? '');
  if (!bytes) return undefined;
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
