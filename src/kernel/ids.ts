/** Randomness is passed in, for the same reason as time. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Ids {
  /** A random UUID (version 4), for things people name. */
  uuid(): string;
  /** A UUID that sorts by the time given (version 7), for rows written by the million: neighbours in time stay neighbours in the index. */
  orderedAt(milliseconds: number): string;
  /** 256 random bits behind a prefix that secret scanners can look for. */
  secret(prefix: string): string;
}

export function createIds(): Ids {
  return {
    uuid: () => randomUUID(),
    orderedAt: (milliseconds) => uuidV7(milliseconds, randomBytes(10)),
    secret: (prefix) => prefix + randomBytes(32).toString('base64url'),
  };
}

/** Of any version, in either case: what SQL takes for a UUID. */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

function uuidV7(milliseconds: number, random: Buffer): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  random.copy(bytes, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The milliseconds inside a version 7 UUID; 0 for any other, which is as good as very old. */
export const timeOfUuid = (uuid: string): number =>
  uuid[14] === '7' ? Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) : 0;
