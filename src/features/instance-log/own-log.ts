/** Which log this process continues, or begins: that of its host and its key. */
import type { KeyObject } from 'node:crypto';
import type { Queryable } from '../../kernel/data/db.ts';
import { originsOf, signerOf } from './log-key.ts';
import { findNewestLog, hasOrigin, type LogRow } from './store.ts';

export interface OwnLog {
  /** Of the newest log when it is ours, else of the log that we would begin. */
  readonly origin: string;
  /** Undefined when it has not begun. */
  readonly log: LogRow | undefined;
  /** The newest log of another key or host. */
  readonly before: LogRow | undefined;
}

export async function findOwnLog(
  db: Queryable,
  { host, logKey }: { readonly host: string; readonly logKey: KeyObject },
): Promise<OwnLog> {
  const newest = await findNewestLog(db);
  const isOurs =
    newest &&
    (newest.origin === `${host}/log` || newest.origin.startsWith(`${host}/log-`)) &&
    signerOf(newest.origin, logKey).verifierKey === newest.verifierKey;
  if (isOurs) return { origin: newest.origin, log: newest, before: undefined };
  for (const origin of originsOf(host))
    if (!(await hasOrigin(db, origin))) return { origin, log: undefined, before: newest };
  throw new Error('unreachable: the origins of a host have no end');
}
