/** Randomness is passed in, for the same reason as time. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Ids {
  /** A random UUID (version 4), for things people name. */
  uuid(): string;
  /** A UUID that sorts by the time given (version 7), for rows written by the million: neighbours in time stay neighbours in the index. */
  uuidV7(milliseconds: number): string;
  /** 256 random bits behind a prefix that secret scanners can look for. */
  secret(prefix: string): string;
  /** The same bits in base64 proper: a key that has to be read as bytes by others. */
  key(prefix: string): string;
}

export function createIds(): Ids {
  return {
    uuid: () => randomUUID(),
    uuidV7: uuidV7,
    secret: (prefix) => prefix + randomBytes(32).toString('base64url'),
    key: (prefix) => prefix + randomBytes(32).toString('base64'),
  };
}

/** The nil UUID: an unknown agent or organization in the log, and a look-up that costs the same as one that finds something. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
export const anonymous = { agentId: nilUuid, organizationId: nilUuid };

/** Of any version, in either case: what SQL takes for a UUID. */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

/** The time, then the version, then what is random in a version 4 UUID: Node draws those by the hundred. */
function uuidV7(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The milliseconds inside a version 7 UUID; 0 for any other, which is as good as very old. */
export const timeOfUuid = (uuid: string): number =>
  uuid[14] === '7' ? Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) : 0;
