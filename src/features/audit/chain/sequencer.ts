/**
 * The sequencer: links new events into the chains. For each chain a pass writes one segment, a checkpoint with the links that
 * it covers, and for all of them one signed tree head. One sequencer runs at a time across all nodes. It extends only a chain
 * whose head has a valid signature, and that does not end before a tree head with a missing checkpoint; any other chain stays
 * as it is, and verification reports it. It links nothing while the witnesses of the instance log know more than this database.
 */
import type { EventType } from '../../../contract/events.ts';
import { type Clock, isoTime } from '../../../kernel/clock.ts';
import { createYield } from '../../../kernel/concurrency/yield.ts';
import { type Db, isTemporary, type Tx } from '../../../kernel/data/db.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import { finding } from '../findings.ts';
import type { IntegrityStatus } from '../integrity-status.ts';
import type { LogContinuation } from '../log-continuation.ts';
import { createBatchSize } from './batch-size.ts';
import type { ChainHeads } from './chain-heads.ts';
import { eventHash, linkHash, recordAt, storedRecord, withMicroseconds } from './hashes.ts';
import type { Keyring, SigningStatus } from './keys/keyring.ts';
import { endFinding, type TreeLeaves } from './leaves/tree-leaves.ts';
import {
  type AppendCursor,
  findEndOfBatch,
  findHighestTransaction,
  findUnlinked,
  forceGenericPlan,
  readProgress,
  type SequencerProgress,
  type UnlinkedEvent,
  writeProgress,
} from './links-store.ts';
import {
  confirmSequencerLock,
  isLockTimeout,
  lockSequencer,
  terminateStalledLockHolder,
} from './lock-store.ts';
import { insertSegments, type NewSegment } from './segments-store.ts';
import type { TreeHeadRow } from './statements.ts';
import type { TreeHeads } from './tree-heads.ts';
import { insertTreeHeads } from './tree-heads-store.ts';
import type { UnlinkedEvents } from './unlinked-events.ts';
import { type ChainHead, emptyHead } from './verify-chain.ts';

interface SequencerDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly keyring: Keyring;
  readonly chainHeads: ChainHeads;
  readonly treeHeads: TreeHeads;
  readonly treeLeaves: Pick<TreeLeaves, 'start' | 'check' | 'known' | 'hasComparedAll' | 'markWritten'>;
  readonly integrity: IntegrityStatus;
  /** Makes the day partition of an event of that time (ISO 8601). */
  ensurePartition(tx: Tx, timestamp: string): Promise<void>;
  readonly unlinked: Pick<UnlinkedEvents, 'linked'>;
  readonly logContinuation: Pick<LogContinuation, 'beforeSigning'>;
}

export interface Sequencer {
  /** Links all events. False when it did not get the lock in time, or a node of an earlier version holds it. */
  pass(signal?: AbortSignal): Promise<boolean>;
  /** Waits for the lock and links all events. Returns a snapshot: every event that is visible in it was processed. */
  drain(): Promise<string>;
}

const maxBatchSize = 4_000;
/** How long a pass waits for the lock: as long as an event may stay without a link. */
const lockTimeoutMs = 5_000;
/** How many events are hashed before the sequencer yields to the event loop. */
const eventsPerYield = 100;
/** Transactions without events move no progress. After this many, it is written anyway. */
const maxUnsettled = 50_000n;

const beginning: AppendCursor = {
  appendedIn: '0',
  timestamp: '-infinity',
  eventId: nilUuid,
};

const endOfTransaction = { timestamp: 'infinity', eventId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

interface Batch {
  readonly size: number;
  hasLock: boolean;
  /** How many were found; undefined before. */
  events: number | undefined;
}

interface RunState {
  /** The progress when the run began. */
  readonly start: SequencerProgress;
  readonly cursor: AppendCursor;
  readonly isLast: boolean;
}

const maxTransaction = (one: string, other: string): string => (BigInt(one) > BigInt(other) ? one : other);

export function createSequencer(deps: SequencerDeps): Sequencer {
  const { db, clock, log, keyring, chainHeads, treeHeads, treeLeaves, integrity, ensurePartition, unlinked } =
    deps;
  const { logContinuation } = deps;
  const batchSizes = createBatchSize(log, maxBatchSize);

  /** Our last tree head, and the heads of chains that we wrote while no other process linked. */
  const own = { treeHead: undefined as string | undefined, heads: new Map<string, ChainHead>() };
  /** The tree where each chain ended when this process extended it first: kept until older trees are compared. */
  const extendedFrom = new Map<string, number>();

  /** Batch by batch, each in its own transaction. Events that commit behind the cursor are left to the next run. */
  const run = async (options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}) => {
    let state: RunState | undefined;
    // Without the lock, and in short statements: other nodes go on linking.
    await treeLeaves.start(db);
    const incomplete = treeLeaves.known();
    if (incomplete) integrity.raise(incomplete.finding);
    await chainHeads.loadNext(db);
    const conflict = await logContinuation.beforeSigning();
    if (conflict) integrity.raise(conflict);
    for (;;) {
      const batch: Batch = { size: batchSizes.current(), hasLock: false, events: undefined };
      state = await db
        .transaction(async (tx) => {
          if (!(await lockSequencer(tx, clock, options.timeoutMs))) return undefined;
          batch.hasLock = true;
          await forceGenericPlan(tx);
          const progress = await readProgress(tx);
          // The database was restored during the run: start again.
          if (progress.restored && !state?.start.restored) state = undefined;
          const status = await keyring.signingStatus(tx);
          const start = state?.start ?? progress;
          if (conflict || !status.maySign) return { start, cursor: beginning, isLast: true };
          const from = { start, cursor: state?.cursor };
          return linkBatch(tx, batch, from, progress, (event) => isGenuine(event, status));
        })
        .catch((error) => {
          if (batch.hasLock && isTemporary(error) && !isLockTimeout(error))
            batchSizes.shrink(batch.events, error.message);
          throw error;
        });
      if (!state) return undefined;
      batchSizes.grow();
      if (state.isLast || options.signal?.aborted) return state.start.snapshot;
    }
  };

  const linkBatch = async (
    tx: Tx,
    batch: Batch,
    { start, cursor }: { start: SequencerProgress; cursor: AppendCursor | undefined },
    now: SequencerProgress,
    isOurs: (event: UnlinkedEvent) => boolean,
  ): Promise<RunState> => {
    const { restored } = start;
    const after = cursor ?? { ...beginning, appendedIn: restored ? '0' : start.settledBefore };
    const before = restored ? undefined : start.next;
    const isFarBehind = BigInt(start.oldestOpen) - BigInt(start.settledBefore) > maxUnsettled;
    // The first batch is usually the last. Otherwise a large part of the log must be scanned, in bounded parts.
    const isLongRun = cursor !== undefined || restored || isFarBehind || batch.size < maxBatchSize;
    const last = isLongRun ? await findEndOfBatch(tx, after, before, batch.size) : undefined;
    const bounds = { before, last, reached: restored ? undefined : now.reached };
    const found = await findUnlinked(tx, after, bounds, batch.size);
    batch.events = found.length;
    const genuine: UnlinkedEvent[] = [];
    const yieldIfDue = createYield(eventsPerYield);
    for (const event of found) {
      if (isOurs(event)) genuine.push(event);
      const due = yieldIfDue();
      if (due) await due;
    }
    if (genuine.length < found.length)
      reportForged(found.find((event) => !genuine.includes(event)) as UnlinkedEvent);
    // Without progress: the events are linked when the tree head is restored.
    if (!(await link(tx, genuine, now.openSince))) return { start, cursor: beginning, isLast: true };

    const isLast = last === undefined && found.length < batch.size;
    if (restored) {
      // This server reaches the restored transaction ids one day: until then each new event is checked for a link.
      if (isLast)
        await writeProgress(
          tx,
          start.oldestOpen,
          maxTransaction(start.next, await findHighestTransaction(tx)),
        );
    } else if (found.length > 0 || cursor || isFarBehind) {
      const settled = isLast ? start.oldestOpen : now.settledBefore;
      await writeProgress(
        tx,
        maxTransaction(settled, now.settledBefore),
        maxTransaction(start.next, now.reached),
      );
    }
    if (genuine.length > 0) await confirmSequencerLock(tx);
    const end =
      found.length === batch.size ? found.at(-1) : last && { ...endOfTransaction, appendedIn: last };
    return { start, cursor: end || after, isLast };
  };

  const reportForged = ({ organizationId, eventId }: UnlinkedEvent) =>
    integrity.raise(finding('EVENT_NOT_SEALED', { organizationId, eventId }));

  /** False when the newest tree head is invalid, or not the last one: nothing may follow it. */
  const link = async (tx: Tx, events: readonly UnlinkedEvent[], openSince: string): Promise<boolean> => {
    if (events.length === 0) return true;
    const { row: newest, invalid, lost } = await treeHeads.newest(tx);
    const problem = invalid ?? lost;
    if (problem) {
      integrity.raise(problem);
      return false;
    }
    if (newest) treeHeads.markSeen(newest);
    const firsts = new Map<string, UnlinkedEvent>();
    for (const event of events)
      if (!firsts.has(event.organizationId)) firsts.set(event.organizationId, event);
    const heads = await validHeads(tx, firsts, newest);
    const time = isoTime(clock);
    // Another node may have closed the day, by a clock that is ahead of ours.
    const now = time > openSince ? time : openSince;
    const chains = new Map<string, GrowingChain>();
    for (const [organizationId, head] of heads)
      chains.set(organizationId, growingChain(organizationId, head, now));
    const linked: string[] = [];
    const yieldIfDue = createYield(eventsPerYield);
    for (const event of events) {
      const chain = chains.get(event.organizationId);
      if (!chain) continue;
      addLink(chain, event);
      linked.push(event.eventId);
      const due = yieldIfDue();
      if (due) await due;
    }
    if (linked.length > 0) await store(tx, { chains: [...chains.values()], linked }, newest);
    return true;
  };

  const store = async (
    tx: Tx,
    { chains, linked }: { chains: readonly NewSegment[]; linked: readonly string[] },
    newest: TreeHeadRow | undefined,
  ) => {
    const trees = await treeHeads.cover(chains, newest);
    const rows = trees.map(({ treeHead }) => treeHead);
    for (const { at } of rows) await ensurePartition(tx, at);
    await insertTreeHeads(tx, rows);
    for (const tree of trees) await insertSegments(tx, tree);
    tx.afterCommit(() => {
      if (newest?.signed !== own.treeHead) own.heads.clear();
      own.treeHead = rows.at(-1)?.signed;
      for (const { leaves } of trees)
        for (const { checkpoint, hash } of leaves) {
          const { organizationId, number, size, head, at } = checkpoint;
          const written = { number, size, head, at, hash };
          own.heads.set(organizationId, written);
          chainHeads.markSeen(organizationId, written);
        }
      for (const row of rows) treeHeads.markSeen(row);
      treeLeaves.markWritten(rows);
      unlinked.linked(linked);
    });
  };

  /**
   * The head of each chain; chains with a finding are left out. While the newest tree head is our own, no other process has
   * linked since, and the heads that we wrote are the newest. Any other chain may have lost its end before this process read it.
   */
  const validHeads = async (
    tx: Tx,
    firstEvents: ReadonlyMap<string, UnlinkedEvent>,
    treeHead: TreeHeadRow | undefined,
  ): Promise<Map<string, ChainHead>> => {
    const isOwn = treeHead !== undefined && treeHead.signed === own.treeHead;
    const knownIncomplete = treeLeaves.known()?.number ?? 0;
    const heads = new Map<string, ChainHead>();
    const unknown: string[] = [];
    for (const organizationId of firstEvents.keys()) {
      const isSuspect = (extendedFrom.get(organizationId) ?? knownIncomplete) < knownIncomplete;
      const head = isOwn && !isSuspect ? own.heads.get(organizationId) : undefined;
      if (head) heads.set(organizationId, head);
      else unknown.push(organizationId);
    }
    if (unknown.length === 0) return heads;
    const newest = await chainHeads.newest(tx, unknown);
    const incomplete = await treeLeaves.check(tx);
    if (incomplete) integrity.raise(incomplete.finding);
    for (const organizationId of unknown) {
      const { head, tree = 0, finding: invalid } = newest.get(organizationId) ?? {};
      const since = incomplete?.at ?? treeHead?.at ?? '';
      const isNew = !head && beginsAfter(firstEvents.get(organizationId) as UnlinkedEvent, since);
      const end = extendedFrom.get(organizationId) ?? (isNew ? Number.POSITIVE_INFINITY : tree);
      const problem = invalid ?? endFinding(organizationId, end, incomplete);
      if (problem) integrity.raise(problem);
      else {
        heads.set(organizationId, head ?? emptyHead(organizationId));
        extendedFrom.set(organizationId, end);
      }
    }
    if (treeLeaves.hasComparedAll() && !incomplete) extendedFrom.clear();
    return heads;
  };

  return {
    async pass(signal) {
      try {
        return (await run({ timeoutMs: lockTimeoutMs, signal })) !== undefined;
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        await terminateStalledLockHolder(db);
        return false;
      }
    },
    async drain() {
      return (await run()) as string;
    },
  };
}

/** This service appended the event, and its row has the values of its text. */
function isGenuine(event: UnlinkedEvent, status: SigningStatus): boolean {
  const tag = event.seal.slice(0, 8);
  const seal = status.seals.get(tag);
  const isSealed = seal ? event.seal === tag + seal(event.canonical) : status.uncheckedTags.includes(tag);
  return isSealed && matchesText(event);
}

/** A copy of a sealed row with another organization or time has a valid seal, too. */
function matchesText(event: UnlinkedEvent): boolean {
  const { canonical, hasStoredText, eventId, organizationId, timestamp, exact } = event;
  if (!exact) return false;
  // A text from the columns has their values. Only for a year before Christ it is that of another time.
  if (!hasStoredText) return timestamp.length === isoLength;
  try {
    const text = JSON.parse(canonical);
    return text.eventId === eventId && text.organizationId === organizationId && text.timestamp === timestamp;
  } catch {
    return false;
  }
}

/**
 * The event is genuine, and created its organization after the time: no chain of this organization existed before. Both
 * texts are of the same form.
 */
function beginsAfter({ canonical }: UnlinkedEvent, time: string): boolean {
  const { action, timestamp } = JSON.parse(canonical);
  return action === ('organization.created' satisfies EventType) && timestamp > time;
}

/** Of a time with a year of four digits. */
const isoLength = new Date(0).toISOString().length;

/** A segment that gets its links one by one. */
type GrowingChain = { -readonly [Field in keyof NewSegment]: NewSegment[Field] };

const growingChain = (
  organizationId: string,
  { number, size, head, hash, at }: ChainHead,
  now: string,
): GrowingChain => ({
  organizationId,
  number: number + 1,
  size,
  head,
  // The time of a chain never decreases, also after a clock was wrong.
  at: at > now ? at : now,
  previous: hash,
  records: '',
  firstAppendedIn: '',
  lastAppendedIn: '',
});

/** The events of a chain come in the order of their transactions. */
function addLink(chain: GrowingChain, event: UnlinkedEvent): void {
  const stored = storedRecord(event.eventId, withMicroseconds(event.timestamp), eventHash(event));
  chain.size += 1;
  chain.head = linkHash(chain.head, recordAt(chain.size, stored));
  chain.records += stored;
  chain.firstAppendedIn ||= event.appendedIn;
  chain.lastAppendedIn = event.appendedIn;
}
