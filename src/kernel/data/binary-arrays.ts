/**
 * Array parameters in PostgreSQL's binary format, for hot paths: PostgreSQL reads them without parsing text, and the driver
 * sends them as they are. Measured for a batch of audit events: 6 µs less of PostgreSQL's CPU per row than joined texts, for
 * 1 µs more of this process's.
 */

const types = { uuid: 2950, text: 25, json: 114, bytea: 17, bigint: 20, xid8: 5069 } as const;
const headerBytes = 20;
const lengthBytes = 4;
const uuidBytes = 16;
const integerBytes = 8;

/** One dimension, no nulls, the type, the number of elements, the index of the first. */
function writeHeader(buffer: Buffer, type: keyof typeof types, elements: number): void {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(types[type], 8);
  buffer.writeInt32BE(elements, 12);
  buffer.writeInt32BE(1, 16);
}

/** For `${uuids(ids)}::uuid[]`. Throws for a text that is no UUID. */
export function uuids(ids: readonly string[]): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + ids.length * (lengthBytes + uuidBytes));
  writeHeader(buffer, 'uuid', ids.length);
  let at = headerBytes;
  for (const id of ids) {
    at = buffer.writeInt32BE(uuidBytes, at);
    const end = writeHex(buffer, id, at);
    if (id.length !== 36 || end !== at + uuidBytes) throw new TypeError(`${id} is no UUID`);
    at = end;
  }
  return buffer;
}

/** For `${byteas(texts)}::bytea[]`. The texts are hexadecimal. */
export function byteas(texts: readonly string[]): Buffer {
  const buffer = Buffer.allocUnsafe(
    texts.reduce((sum, { length }) => sum + lengthBytes + length / 2, headerBytes),
  );
  writeHeader(buffer, 'bytea', texts.length);
  let at = headerBytes;
  for (const text of texts) {
    at = buffer.writeInt32BE(text.length / 2, at);
    const end = writeHex(buffer, text, at);
    // A hyphen would leave bytes of the buffer unwritten.
    if (end !== at + text.length / 2) throw new TypeError(`${text} is not hexadecimal`);
    at = end;
  }
  return buffer;
}

/** For `${texts(list)}::text[]`. */
export const texts = (list: readonly string[]): Buffer => writeTexts('text', list);

/** For `${jsons(list)}::json[]`. */
export const jsons = (list: readonly string[]): Buffer => writeTexts('json', list);

/** For `${bigints(list)}::bigint[]`. Throws for a number that is not a safe integer. */
export function bigints(list: readonly number[]): Buffer {
  const buffer = allocateIntegers('bigint', list.length);
  let at = headerBytes;
  for (const number of list) at = writeInteger(buffer, number, at);
  return buffer;
}

/** For `${transactionIds(list)}::xid8[]`. The texts are decimal. */
export function transactionIds(list: readonly string[]): Buffer {
  const buffer = allocateIntegers('xid8', list.length);
  let at = headerBytes;
  for (const text of list) {
    const number = Number(text);
    if (Number.isSafeInteger(number) && number >= 0) at = writeInteger(buffer, number, at);
    else at = buffer.writeBigUInt64BE(BigInt(text), buffer.writeInt32BE(integerBytes, at));
  }
  return buffer;
}

function allocateIntegers(type: 'bigint' | 'xid8', elements: number): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + elements * (lengthBytes + integerBytes));
  writeHeader(buffer, type, elements);
  return buffer;
}

const word = 2 ** 32;

/** In two halves: a BigInt for each number would be garbage. */
function writeInteger(buffer: Buffer, number: number, start: number): number {
  if (!Number.isSafeInteger(number)) throw new RangeError(`${number} is no safe integer`);
  let at = buffer.writeInt32BE(integerBytes, start);
  at = buffer.writeInt32BE(Math.floor(number / word), at);
  return buffer.writeUInt32BE(number >>> 0, at);
}

const maxUtf8Bytes = 3;

function writeTexts(type: 'text' | 'json', list: readonly string[]): Buffer {
  const size = list.reduce((sum, { length }) => sum + lengthBytes + maxUtf8Bytes * length, headerBytes);
  const buffer = Buffer.allocUnsafe(size);
  writeHeader(buffer, type, list.length);
  let at = headerBytes;
  for (const text of list) {
    const bytes = buffer.write(text, at + lengthBytes);
    at = buffer.writeInt32BE(bytes, at) + bytes;
  }
  return buffer.subarray(0, at);
}

const digits = new Uint8Array(128).fill(255);
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  digits[digit.charCodeAt(0)] = value;
  digits[digit.toUpperCase().charCodeAt(0)] = value;
}
const hyphen = '-'.charCodeAt(0);

/** Skips hyphens before a byte. Returns the position after the last byte. */
function writeHex(buffer: Buffer, text: string, start: number): number {
  let at = start;
  for (let index = 0; index < text.length; index += 2) {
    if (text.charCodeAt(index) === hyphen) index += 1;
    const high = digits[text.charCodeAt(index)] ?? 255;
    const low = digits[text.charCodeAt(index + 1)] ?? 255;
    if (high > 15 || low > 15) throw new TypeError(`${text} is not hexadecimal`);
    buffer[at] = (high << 4) | low;
    at += 1;
  }
  return at;
}
