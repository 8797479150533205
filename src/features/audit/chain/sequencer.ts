/**
 * The sequencer: links new events into the chains and signs the new heads. Links and their checkpoint are one transaction,
 * so a checkpoint covers every link. One sequencer runs at a time across all nodes. It extends only a chain whose head has a
 * valid signature; any other chain stays as it is, and verification reports it.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { createYield, type YieldToEventLoop } from '../../../kernel/concurrency/yield.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import type { Alarm } from '../alarm.ts';
import { finding } from '../findings.ts';
import type { Partitions } from '../log/partitions.ts';
import type { ChainHeads } from './chain-heads.ts';
import { insertCheckpoints } from './checkpoints-store.ts';
import { eventHash, type Link, linkHash, linkRecord, withMicroseconds } from './hashes.ts';
import type { Keyring, SigningStatus } from './keys/keyring.ts';
import {
  type AppendCursor,
  findEndOfBatch,
  findHighestTransaction,
  findLastSequences,
  findUnlinked,
  insertLinks,
  readProgress,
  type SequencerProgress,
  type UnlinkedEvent,
  writeProgress,
} from './links-store.ts';
import { confirmSequencerLock, isLockTimeout, lockSequencer } from './lock-store.ts';
import type { Pending } from './pending.ts';
import { type ChainHead, coverageFinding, emptyHead, headOf } from './rules.ts';
import { type CheckpointRow, sign } from './statements.ts';

export interface SequencerDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly keyring: Keyring;
  readonly chainHeads: ChainHeads;
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
  const { db, clock, signer, keyring, chainHeads, alarm, partitions, pending } = deps;

  /** Batch by batch, each in its own transaction. Events that commit behind the cursor are left to the next run. */
  const run = async (options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}) => {
    let state: RunState | undefined;
    for (;;) {
      state = await db.transaction(async (tx) => {
        if (!(await lockSequencer(tx, clock, options.timeoutMs))) return undefined;
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
    await link(tx, genuine);

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

  const link = async (tx: Tx, events: readonly UnlinkedEvent[]) => {
    if (events.length === 0) return;
    const chains = Map.groupBy(events, (event) => event.organizationId);
    const heads = await validHeads(tx, [...chains.keys()]);
    const links: (Link & { organizationId: string })[] = [];
    const checkpoints: Promise<CheckpointRow>[] = [];
    const yieldIfDue = createYield(eventsPerYield);
    for (const [organizationId, head] of heads) {
      const at = new Date(Math.max(clock.now(), Date.parse(head.at))).toISOString();
      await partitions.ensureFor(tx, at);
      const added = await extendChain(head, chains.get(organizationId) ?? [], at.slice(0, 10), yieldIfDue);
      for (const each of added) links.push({ ...each, organizationId });
      const checkpoint = createCheckpoint(organizationId, head, added.at(-1) as Link, at);
      checkpoint.catch(() => {});
      checkpoints.push(checkpoint);
    }
    const rows = await Promise.all(checkpoints);
    await insertLinks(tx, links);
    await insertCheckpoints(tx, rows);
    tx.afterCommit(() => {
      for (const row of rows) chainHeads.markSeen(row.organizationId, headOf(row));
      pending.linked(links.map(({ eventId }) => eventId));
    });
  };

  /** The head of each chain; chains with a finding are left out. */
  const validHeads = async (tx: Tx, organizationIds: readonly string[]): Promise<Map<string, ChainHead>> => {
    const heads = new Map<string, ChainHead>();
    const newest = await chainHeads.newest(tx, organizationIds);
    const lastSequences = new Map(
      (await findLastSequences(tx, organizationIds)).map((row) => [row.organizationId, row.sequence]),
    );
    for (const organizationId of organizationIds) {
      const result = newest.get(organizationId);
      const head = result?.head ?? emptyHead(organizationId);
      const problem =
        result?.finding ?? coverageFinding(organizationId, lastSequences.get(organizationId), head);
      if (problem) alarm.raise(problem);
      else heads.set(organizationId, head);
    }
    return heads;
  };

  const createCheckpoint = async (organizationId: string, head: ChainHead, newest: Link, at: string) => {
    const checkpoint = {
      organizationId,
      number: head.number + 1,
      size: newest.sequence,
      head: newest.hash,
      at,
      previous: head.hash,
    };
    const signed = await sign(signer, 'checkpoint', checkpoint);
    return { ...checkpoint, keyId: signer.keyId, signed };
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

async function extendChain(
  head: ChainHead,
  events: readonly UnlinkedEvent[],
  linkedOn: string,
  yieldIfDue: YieldToEventLoop,
): Promise<Link[]> {
  const links: Link[] = [];
  let previous = head.head;
  for (const event of events) {
    const link = {
      sequence: head.size + links.length + 1,
      eventId: event.eventId,
      time: withMicroseconds(event.timestamp),
      eventHash: eventHash(event),
    };
    previous = linkHash(previous, linkRecord(link));
    links.push({ ...link, hash: previous, linkedOn });
    await yieldIfDue();
  }
  return links;
}
