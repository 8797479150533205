/**
 * The sequencer: links new events into the chains. For each chain a pass writes one segment, a checkpoint with the links that
 * it covers, and for all of them one signed tree head. One sequencer runs at a time across all nodes. It extends only a chain
 * whose head has a valid signature; any other chain stays as it is, and verification reports it.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { createYield, type YieldToEventLoop } from '../../../kernel/concurrency/yield.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { Alarm } from '../alarm.ts';
import { finding } from '../findings.ts';
import type { Partitions } from '../log/partitions.ts';
import type { ChainHeads, HeadResult } from './chain-heads.ts';
import { eventHash, linkHash, linkRecord, storedLength, withMicroseconds } from './hashes.ts';
import type { Keyring, SigningStatus } from './keys/keyring.ts';
import {
  type AppendCursor,
  findEndOfBatch,
  findHighestTransaction,
  findUnlinked,
  planOnce,
  readProgress,
  type SequencerProgress,
  type UnlinkedEvent,
  writeProgress,
} from './links-store.ts';
import { confirmSequencerLock, isLockTimeout, lockSequencer } from './lock-store.ts';
import type { Pending } from './pending.ts';
import { type ChainHead, emptyHead } from './rules.ts';
import { insertSegments, type NewSegment } from './segments-store.ts';
import type { TreeHeadRow } from './statements.ts';
import type { TreeHeads } from './tree-heads.ts';
import { insertTreeHeads } from './tree-heads-store.ts';

export interface SequencerDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly chainHeads: ChainHeads;
  readonly treeHeads: TreeHeads;
  readonly alarm: Alarm;
  readonly partitions: Pick<Partitions, 'ensureFor'>;
  readonly pending: Pick<Pending, 'linked'>;
}

export interface Sequencer {
  /** Links all events. False when it did not get the lock in time, or a node of an earlier version holds it. */
  pass(signal?: AbortSignal): Promise<boolean>;
  /** Waits for the lock and links all events. Returns a snapshot: every event that is visible in it was processed. */
  drain(): Promise<string>;
}

const batchSize = 4_000;
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

interface RunState {
  /** The progress when the run began. */
  readonly start: SequencerProgress;
  readonly cursor: AppendCursor;
  readonly isLast: boolean;
}

const maxTransaction = (one: string, other: string): string => (BigInt(one) > BigInt(other) ? one : other);

export function createSequencer(deps: SequencerDeps): Sequencer {
  const { db, clock, keyring, chainHeads, treeHeads, alarm, partitions, pending } = deps;

  /** Our last tree head, and the heads of chains that we wrote while no other process linked. */
  const own = { treeHead: undefined as string | undefined, heads: new Map<string, ChainHead>() };

  /** Batch by batch, each in its own transaction. Events that commit behind the cursor are left to the next run. */
  const run = async (options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}) => {
    let state: RunState | undefined;
    for (;;) {
      state = await db.transaction(async (tx) => {
        if (!(await lockSequencer(tx, clock, options.timeoutMs))) return undefined;
        await planOnce(tx);
        const progress = await readProgress(tx);
        // The database was restored during the run: start again.
        if (progress.restored && !state?.start.restored) state = undefined;
        const status = await keyring.signingStatus(tx);
        const start = state?.start ?? progress;
        if (!status.maySign) return { start, cursor: beginning, isLast: true };
        return linkBatch(tx, { start, cursor: state?.cursor }, progress, (event) => isGenuine(event, status));
      });
      if (!state) return undefined;
      if (state.isLast || options.signal?.aborted) return state.start.snapshot;
    }
  };

  const linkBatch = async (
    tx: Tx,
    { start, cursor }: { start: SequencerProgress; cursor: AppendCursor | undefined },
    now: SequencerProgress,
    isOurs: (event: UnlinkedEvent) => boolean,
  ): Promise<RunState> => {
    const { restored } = start;
    const after = cursor ?? { ...beginning, appendedIn: restored ? '0' : start.settledBefore };
    const before = restored ? undefined : start.next;
    const isFarBehind = BigInt(start.oldestOpen) - BigInt(start.settledBefore) > maxUnsettled;
    // The first batch is usually the last. Otherwise a large part of the log must be scanned, in bounded parts.
    const isLongRun = cursor !== undefined || restored || isFarBehind;
    const last = isLongRun ? await findEndOfBatch(tx, after, before, batchSize) : undefined;
    const bounds = { before, last, reached: restored ? undefined : now.reached };
    const found = await findUnlinked(tx, after, bounds, batchSize);
    const genuine: UnlinkedEvent[] = [];
    const yieldIfDue = createYield(eventsPerYield);
    for (const event of found) {
      if (isOurs(event)) genuine.push(event);
      await yieldIfDue();
    }
    if (genuine.length < found.length)
      reportForged(found.find((event) => !genuine.includes(event)) as UnlinkedEvent);
    // Without progress: the events are linked when the tree head is restored.
    if (!(await link(tx, genuine))) return { start, cursor: beginning, isLast: true };

    const isLast = last === undefined && found.length < batchSize;
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
    const end = found.length === batchSize ? found.at(-1) : last && { ...endOfTransaction, appendedIn: last };
    return { start, cursor: end || after, isLast };
  };

  const reportForged = ({ organizationId, eventId }: UnlinkedEvent) =>
    alarm.raise(finding('EVENT_NOT_SEALED', { organizationId, eventId }));

  /** False when the newest tree head is invalid: nothing may follow it. */
  const link = async (tx: Tx, events: readonly UnlinkedEvent[]): Promise<boolean> => {
    if (events.length === 0) return true;
    const { row: newest, invalid, lost } = await treeHeads.newest(tx);
    const problem = invalid ?? lost;
    if (problem) alarm.raise(problem);
    if (invalid) return false;
    const chains = Map.groupBy(events, (event) => event.organizationId);
    const heads = await validHeads(tx, [...chains.keys()], newest);
    const now = new Date(clock.now()).toISOString();
    const added: ExtendedChain[] = [];
    const yieldIfDue = createYield(eventsPerYield);
    for (const [organizationId, head] of heads) {
      // The time of a chain never decreases, also after a clock was wrong.
      const at = head.at > now ? head.at : now;
      added.push(await extendChain(organizationId, head, chains.get(organizationId) ?? [], at, yieldIfDue));
    }
    if (added.length > 0) await store(tx, added, newest);
    return true;
  };

  const store = async (tx: Tx, added: readonly ExtendedChain[], newest: TreeHeadRow | undefined) => {
    const { treeHeads: rows, covered } = await treeHeads.cover(added, newest);
    for (const { at } of rows) await partitions.ensureFor(tx, at);
    await insertTreeHeads(tx, rows);
    await insertSegments(tx, covered);
    tx.afterCommit(() => {
      if (newest?.signed !== own.treeHead) own.heads.clear();
      own.treeHead = rows.at(-1)?.signed;
      for (const { organizationId, number, size, head, at, hash, eventIds } of covered) {
        const written = { number, size, head, at, hash };
        own.heads.set(organizationId, written);
        chainHeads.markSeen(organizationId, written);
        pending.linked(eventIds);
      }
      for (const row of rows) treeHeads.markSeen(row);
    });
  };

  /**
   * The head of each chain; chains with a finding are left out. While the newest tree head is our own, no other process has
   * linked since, and the heads that we wrote are the newest.
   */
  const validHeads = async (
    tx: Tx,
    organizationIds: readonly string[],
    treeHead: TreeHeadRow | undefined,
  ): Promise<Map<string, ChainHead>> => {
    const isOwn = treeHead !== undefined && treeHead.signed === own.treeHead;
    const heads = new Map<string, ChainHead>();
    const unknown: string[] = [];
    for (const organizationId of organizationIds) {
      const head = isOwn ? own.heads.get(organizationId) : undefined;
      if (head) heads.set(organizationId, head);
      else unknown.push(organizationId);
    }
    const newest = unknown.length > 0 ? await chainHeads.newest(tx, unknown) : new Map<string, HeadResult>();
    for (const organizationId of unknown) {
      const { head = emptyHead(organizationId), finding: problem } = newest.get(organizationId) ?? {};
      if (problem) alarm.raise(problem);
      else heads.set(organizationId, head);
    }
    return heads;
  };

  return {
    async pass(signal) {
      try {
        return (await run({ timeoutMs: lockTimeoutMs, signal })) !== undefined;
      } catch (error) {
        if (isLockTimeout(error)) return false;
        throw error;
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
function matchesText({ canonical, eventId, organizationId, timestamp, exact }: UnlinkedEvent): boolean {
  if (!exact) return false;
  try {
    const text = JSON.parse(canonical);
    return text.eventId === eventId && text.organizationId === organizationId && text.timestamp === timestamp;
  } catch {
    return false;
  }
}

type ExtendedChain = Omit<NewSegment, 'inclusion'> & { readonly eventIds: readonly string[] };

/** `events` in the order of their transactions. */
async function extendChain(
  organizationId: string,
  { number, size, head, hash }: ChainHead,
  events: readonly UnlinkedEvent[],
  at: string,
  yieldIfDue: YieldToEventLoop,
): Promise<ExtendedChain> {
  const records: string[] = [];
  let last = head;
  for (const event of events) {
    const { eventId, timestamp } = event;
    const link = { sequence: size + records.length + 1, eventId, time: withMicroseconds(timestamp) };
    const record = linkRecord({ ...link, eventHash: eventHash(event) });
    last = linkHash(last, record);
    records.push(record.slice(-storedLength));
    await yieldIfDue();
  }
  return {
    organizationId,
    number: number + 1,
    size: size + events.length,
    head: last,
    at,
    previous: hash,
    records: records.join(''),
    firstAppendedIn: events[0]?.appendedIn ?? '0',
    lastAppendedIn: events.at(-1)?.appendedIn ?? '0',
    eventIds: events.map(({ eventId }) => eventId),
  };
}
