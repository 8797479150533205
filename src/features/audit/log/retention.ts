/**
 * Retention: drops whole days when their last event is old enough, and signs an anchor for each chain in the same
 * transaction. The segments and tree heads of a day are dropped a day after its events, because the last events may have been
 * linked after midnight.
 */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Db, isTemporary, type Tx } from '../../../kernel/data/db.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { ReadStatement, Signer } from '../../../kernel/ports/signer.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { lockSequencer } from '../chain/lock-store.ts';
import {
  findOrganizationsWithChain,
  insertAnchor,
  lastCheckpointBeforeDay,
} from '../chain/segments-store.ts';
import { type Anchor, sign } from '../chain/statements.ts';
import { lowestTreeHead } from '../chain/tree-heads-store.ts';
import {
  type ChainHead,
  emptyHead,
  headOf,
  signatureFinding,
  treeHeadFinding,
  treeHeadSignatureFinding,
} from '../chain/verify-chain.ts';
import type { Finding } from '../findings.ts';
import type { IntegrityStatus } from '../integrity-status.ts';
import type { Partitions } from './partitions.ts';
import {
  dropPartitions,
  findExpiredPartitions,
  highestTreeHeadIn,
  setShortLockTimeout,
} from './retention-store.ts';

interface RetentionDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  readonly keyring: Keyring;
  readonly chainHeads: ChainHeads;
  readonly integrity: IntegrityStatus;
  readonly partitions: Pick<Partitions, 'invalidate'>;
  /** The last day through this one that may be dropped, because the archive has it; undefined when none may. */
  droppableThrough?(day: string): Promise<string | undefined>;
}

const dayMs = 86_400_000;

/** The last day whose events are all past retention. */
const lastExpiredDay = (now: number): string =>
  new Date(now - (limits.auditRetentionDays + 1) * dayMs).toISOString().slice(0, 10);

export function createRetention(deps: RetentionDeps): () => Promise<void> {
  const { db, clock, log, signer, readStatement, keyring, chainHeads, integrity, partitions } = deps;

  /** The checkpoint that the anchor names. Undefined when its signature is invalid: no anchor may cover such a chain. */
  const lastDroppedCheckpoint = async (
    tx: Tx,
    organizationId: string,
    anchor: Anchor | undefined,
    day: string,
  ) => {
    const last = await lastCheckpointBeforeDay(tx, organizationId, day);
    if (!last) return anchor?.checkpoint ?? checkpointAt(emptyHead(organizationId));
    const { keys } = await keyring.trust(tx);
    const invalid = await signatureFinding(readStatement, last, keys);
    if (!invalid) return checkpointAt(headOf(last));
    integrity.raise(invalid);
    return undefined;
  };

  /**
   * The highest tree head that this retention or an earlier one drops. A finding when its row is not the signed one: a forged number
   * would let an attacker remove later tree heads.
   */
  const droppedTreeHead = async (
    tx: Tx,
    expired: readonly string[],
  ): Promise<{ number: number; finding?: Finding | undefined }> => {
    const dropped = await chainHeads.dropped(tx);
    // An anchor of an earlier version does not say it.
    const before = dropped && (dropped.throughTreeHead ?? ((await lowestTreeHead(tx)) ?? 1) - 1);
    const highest = await highestTreeHeadIn(tx, expired);
    if (!highest) return { number: before ?? 0 };
    const { keys } = await keyring.trust(tx);
    const problem =
      treeHeadFinding(highest, undefined) ?? (await treeHeadSignatureFinding(readStatement, highest, keys));
    return { number: Math.max(before ?? 0, highest.number), finding: problem };
  };

  const signAnchor = async (tx: Tx, organizationId: string, day: string, treeHead: number) => {
    const { anchor, finding: invalid } = await chainHeads.anchor(tx, organizationId);
    if (invalid) return integrity.raise(invalid);
    const checkpoint = await lastDroppedCheckpoint(tx, organizationId, anchor, day);
    if (!checkpoint) return;
    const number = (anchor?.number ?? 0) + 1;
    const at = new Date(clock.now()).toISOString();
    const signed = await sign(signer, 'anchor', {
      organizationId,
      number,
      at,
      droppedThrough: day,
      droppedTreeHead: treeHead,
      checkpoint,
    });
    await insertAnchor(tx, organizationId, { number, at, signed });
  };

  const drop = (day: string): Promise<readonly string[]> =>
    db.transaction(async (tx) => {
      // The lock stops the sequencers and the retention of other nodes.
      await lockSequencer(tx, clock);
      const expired = await findExpiredPartitions(tx, day);
      if (expired.length === 0 || !(await keyring.signingStatus(tx)).maySign) return [];
      const treeHead = await droppedTreeHead(tx, expired);
      if (treeHead.finding) {
        integrity.raise(treeHead.finding);
        return [];
      }
      for (const organizationId of await findOrganizationsWithChain(tx))
        await signAnchor(tx, organizationId, day, treeHead.number);
      await setShortLockTimeout(tx);
      await dropPartitions(tx, expired);
      return expired;
    });

  return async () => {
    const expired = lastExpiredDay(clock.now());
    try {
      const day = deps.droppableThrough ? await deps.droppableThrough(expired) : expired;
      if (day === undefined) return;
      const dropped = await drop(day);
      if (dropped.length === 0) return;
      partitions.invalidate();
      log.info({ dropped }, 'dropped audit partitions past retention');
    } catch (error) {
      if (!isTemporary(error)) throw error;
      log.warn({ err: error }, 'audit partitions past retention not dropped; the next round retries');
    }
  };
}

const checkpointAt = ({ number, size, head, hash }: ChainHead): Anchor['checkpoint'] => ({
  number,
  size,
  head,
  hash,
});
