/** Random values are injected, like the clock. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Ids {
  /** A random UUID (version 4). */
  uuid(): string;
  /** A UUID that sorts by the given time (version 7), for large tables: rows of the same time are neighbours in the index. */
  uuidV7(milliseconds: number): string;
  /** 256 random bits in base64url, after a prefix that secret scanners can find. */
  secret(prefix: string): string;
  /** The same in base64: a key that other programs decode to bytes. */
  key(prefix: string): string;
}

export function createIds(): Ids {
  return {
    uuid: () => randomUUID(),
    uuidV7,
    secret: (prefix) => prefix + randomBytes(32).toString('base64url'),
    key: (prefix) => prefix + randomBytes(32).toString('base64'),
  };
}

/** The nil UUID: an unknown agent or organization in the log, and a look-up that costs the same as one that finds something. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
export const anonymous = { agentId: nilUuid, organizationId: nilUuid };

/** Of any version, upper or lower case, as PostgreSQL accepts it. */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

/** The time, the version, then the random part of a version 4 UUID, which Node generates in batches. */
function uuidV7(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The milliseconds of a version 7 UUID; 0 for other versions, so that they count as very old. */
export const timeOfUuid = (uuid: string): number =>
  uuid[14] === '7' ? Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) : 0;
