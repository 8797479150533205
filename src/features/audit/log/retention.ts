/**
 * Retention: whole days are dropped when their last event is old enough, and what is dropped is signed for, in the same
 * transaction: either both are done or neither. The evidence of a day goes a day later than its events, since the last
 * of them may have been linked after midnight.
 */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { DatabaseUnavailable, type Db, type Tx } from '../../../kernel/data/db.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { ReadStatement, Signer } from '../../../kernel/ports/signer.ts';
import type { Alarm } from '../alarm.ts';
import { isGenuine, type Position, type Positions, positionOf } from '../chain/chain-heads.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { lockSequencer } from '../chain/lock-store.ts';
import { type Anchor, sign } from '../chain/statements.ts';
import type { Partitions } from './partitions.ts';
import {
  beImpatient,
  dropPartitions,
  findChains,
  findExpired,
  insertAnchor,
  lastBeforeDay,
} from './retention-store.ts';

export interface RetentionDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  readonly keyring: Keyring;
  readonly positions: Positions;
  readonly alarm: Alarm;
  readonly partitions: Pick<Partitions, 'forget'>;
}

const dayMs = 86_400_000;

/** The last day of which every event is past retention. */
const lastExpiredDay = (now: number): string =>
  new Date(now - (limits.auditRetentionDays + 1) * dayMs).toISOString().slice(0, 10);

export function createRetention(deps: RetentionDeps): () => Promise<void> {
  const { db, clock, log, signer, readStatement, keyring, positions, alarm, partitions } = deps;

  /** Undefined when the chain's own end is not genuine: then nothing vouches for the rest, and it will not verify. */
  const endOf = async (tx: Tx, organizationId: string, anchor: Anchor | undefined, day: string) => {
    const last = await lastBeforeDay(tx, organizationId, day);
    if (!last) return anchor?.checkpoint ?? endAt(positions.beginning(organizationId));
    const { keys } = await keyring.trust(tx);
    if (await isGenuine(readStatement, last, keys)) return endAt(positionOf(last));
    alarm.raise({
      organizationId,
      problem: `checkpoint ${last.number} is not what a trusted key has signed`,
    });
    return undefined;
  };

  const leaveAnchor = async (tx: Tx, organizationId: string, day: string) => {
    const { anchor, problem } = await positions.anchor(tx, organizationId);
    if (problem !== undefined) return alarm.raise({ organizationId, problem });
    const checkpoint = await endOf(tx, organizationId, anchor, day);
    if (!checkpoint) return;
    const number = (anchor?.number ?? 0) + 1;
    const at = new Date(clock.now()).toISOString();
    const signed = await sign(signer, 'anchor', {
      organizationId,
      number,
      at,
      droppedThrough: day,
      checkpoint,
    });
    await insertAnchor(tx, organizationId, { number, at, signed });
  };

  const drop = (day: string): Promise<readonly string[]> =>
    db.transaction(async (tx) => {
      // Nothing is linked meanwhile, and only one node drops.
      await lockSequencer(tx, clock);
      const expired = await findExpired(tx, day);
      if (expired.length === 0 || !(await keyring.standing(tx)).current) return [];
      for (const organizationId of await findChains(tx)) await leaveAnchor(tx, organizationId, day);
      await beImpatient(tx);
      await dropPartitions(tx, expired);
      return expired;
    });

  return async () => {
    const day = lastExpiredDay(clock.now());
    try {
      const dropped = await drop(day);
      if (dropped.length === 0) return;
      partitions.forget();
      log.info({ dropped }, 'audit events past retention were dropped');
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      log.warn({ err: error }, 'what is past retention could not be dropped now; it will be tried again');
    }
  };
}

const endAt = ({ number, size, head, hash }: Position): Anchor['checkpoint'] => ({
  number,
  size,
  head,
  hash,
});
