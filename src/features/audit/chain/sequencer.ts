/**
 * The sequencer: links what was appended into the chains and signs their new heads, links and checkpoint in one
 * transaction, so that every link is covered. One at a time across nodes. It extends only what it can vouch for: a chain
 * whose head is not what was signed stays as it is, and verification says so.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { createYield, type YieldToEventLoop } from '../../../kernel/concurrency/yield.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import type { Alarm } from '../alarm.ts';
import type { Partitions } from '../log/partitions.ts';
import { type Position, type Positions, positionOf } from './chain-heads.ts';
import { eventHash, type Link, linkHash, linkRecord, microseconds } from './hashes.ts';
import type { Keyring, Standing } from './keys/keyring.ts';
import {
  type Candidate,
  type CheckpointRow,
  type Cursor,
  endOfBatch,
  findHighest,
  findLastSequences,
  findUnlinked,
  type Horizon,
  insertCheckpoints,
  insertLinks,
  readHorizon,
  writeProgress,
} from './links-store.ts';
import { confirmSequencerLock, isLockTimeout, lockSequencer } from './lock-store.ts';
import type { Pending } from './pending.ts';
import { sign } from './statements.ts';

export interface SequencerDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly keyring: Keyring;
  readonly positions: Positions;
  readonly alarm: Alarm;
  readonly partitions: Pick<Partitions, 'ensureFor'>;
  readonly pending: Pick<Pending, 'linked'>;
}

export interface Sequencer {
  /** Links what there is. False when another transaction kept the lock for too long, or a node of an earlier version has it. */
  pass(signal?: AbortSignal): Promise<boolean>;
  /** Waits for its turn, and answers with a snapshot: every event that is visible in it has been looked at. */
  drain(): Promise<string>;
}

const batchSize = 4_000;
/** How long a pass waits for its lock: as long as an event may wait for its link. */
const lockTimeoutMs = 5_000;
/** A second of a busy service's events is much to hash in one go. */
const eventsAtOnce = 100;
/** Transactions pass without leaving events, too; how many may before it is written down how far we are. */
const unsettledAtMost = 50_000n;

const beginning: Cursor = {
  appendedIn: '0',
  timestamp: '-infinity',
  eventId: '00000000-0000-0000-0000-000000000000',
};

const endOfTransaction = { timestamp: 'infinity', eventId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

interface Run {
  /** How things stood when the run began. */
  readonly start: Horizon;
  readonly cursor: Cursor;
  readonly isLast: boolean;
}

const later = (one: string, other: string): string => (BigInt(one) > BigInt(other) ? one : other);

export function createSequencer(deps: SequencerDeps): Sequencer {
  const { db, clock, signer, keyring, positions, alarm, partitions, pending } = deps;

  /** Batch by batch, each a transaction of its own; what commits behind the cursor meanwhile is the next run's. */
  const run = async (options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}) => {
    let state: Run | undefined;
    for (;;) {
      state = await db.transaction(async (tx) => {
        if (!(await lockSequencer(tx, clock, options.timeoutMs))) return undefined;
        const horizon = await readHorizon(tx);
        // Under our feet: what we have seen so far counts for nothing.
        if (horizon.restored && !state?.start.restored) state = undefined;
        const standing = await keyring.standing(tx);
        const start = state?.start ?? horizon;
        if (!standing.current) return { start, cursor: beginning, isLast: true };
        return linkBatch(tx, { start, cursor: state?.cursor }, horizon, (event) => belongs(event, standing));
      });
      if (!state) return undefined;
      if (state.isLast || options.signal?.aborted) return state.start.seen;
    }
  };

  const linkBatch = async (
    tx: Tx,
    { start, cursor }: { start: Horizon; cursor: Cursor | undefined },
    now: Horizon,
    isOurs: (event: Candidate) => boolean,
  ): Promise<Run> => {
    const { restored } = start;
    const after = cursor ?? { ...beginning, appendedIn: restored ? '0' : start.settledBefore };
    const before = restored ? undefined : start.next;
    const far = BigInt(start.oldestOpen) - BigInt(start.settledBefore) > unsettledAtMost;
    // The first batch is usually the last; otherwise there is much to go through, waiting or linked already.
    const last = cursor || restored || far ? await endOfBatch(tx, after, before, batchSize) : undefined;
    const bounds = { before, last, reached: restored ? undefined : now.reached };
    const found = await findUnlinked(tx, after, bounds, batchSize);
    const ours: Candidate[] = [];
    const pause = createYield(eventsAtOnce);
    for (const event of found) {
      if (isOurs(event)) ours.push(event);
      await pause();
    }
    if (ours.length < found.length) reportForeign(found.find((event) => !ours.includes(event)) as Candidate);
    await link(tx, ours);

    const isLast = last === undefined && found.length < batchSize;
    if (restored) {
      // Ids that came with the restore are passed through again one day: until then their links have to be looked for.
      if (isLast) await writeProgress(tx, start.oldestOpen, later(start.next, await findHighest(tx)));
    } else if (found.length > 0 || cursor || far) {
      const settled = isLast ? start.oldestOpen : now.settledBefore;
      await writeProgress(tx, later(settled, now.settledBefore), later(start.next, now.reached));
    }
    if (ours.length > 0) await confirmSequencerLock(tx);
    const end = found.length === batchSize ? found.at(-1) : last && { ...endOfTransaction, appendedIn: last };
    return { start, cursor: end || after, isLast };
  };

  /** Appended by this service, and in the place that its text says. */
  const belongs = (event: Candidate, standing: Standing): boolean => {
    const tag = event.seal.slice(0, 8);
    const seal = standing.seals.get(tag);
    const sealed = seal ? event.seal === tag + seal(event.canonical) : standing.uncheckedTags.includes(tag);
    return sealed && isInPlace(event);
  };

  const reportForeign = ({ organizationId, eventId }: Candidate) =>
    alarm.raise({ organizationId, eventId, problem: 'the event was not recorded by this service' });

  const link = async (tx: Tx, events: readonly Candidate[]) => {
    if (events.length === 0) return;
    const chains = Map.groupBy(events, (event) => event.organizationId);
    const heads = await soundHeads(tx, [...chains.keys()]);
    const links: (Link & { organizationId: string })[] = [];
    const checkpoints: Promise<CheckpointRow>[] = [];
    const pause = createYield(eventsAtOnce);
    for (const [organizationId, head] of heads) {
      const at = new Date(Math.max(clock.now(), Date.parse(head.at))).toISOString();
      await partitions.ensureFor(tx, at);
      const added = await extend(head, chains.get(organizationId) ?? [], at.slice(0, 10), pause);
      for (const each of added) links.push({ ...each, organizationId });
      const taken = takeCheckpoint(organizationId, head, added.at(-1) as Link, at);
      taken.catch(() => {});
      checkpoints.push(taken);
    }
    const rows = await Promise.all(checkpoints);
    await insertLinks(tx, links);
    await insertCheckpoints(tx, rows);
    tx.afterCommit(() => {
      for (const row of rows) positions.remember(row.organizationId, positionOf(row));
      pending.linked(links.map(({ eventId }) => eventId));
    });
  };

  /** Where each chain goes on; without those that somebody has been at. */
  const soundHeads = async (tx: Tx, organizationIds: readonly string[]): Promise<Map<string, Position>> => {
    const heads = new Map<string, Position>();
    const found = await positions.newest(tx, organizationIds);
    const last = new Map(
      (await findLastSequences(tx, organizationIds)).map((row) => [row.organizationId, row.sequence]),
    );
    for (const organizationId of organizationIds) {
      const newest = found.get(organizationId);
      if (newest?.problem) alarm.raise({ organizationId, problem: newest.problem });
      else {
        const head = newest?.position ?? positions.beginning(organizationId);
        if ((last.get(organizationId) ?? head.size) > head.size)
          alarm.raise({ organizationId, problem: 'there are links that no checkpoint covers' });
        else heads.set(organizationId, head);
      }
    }
    return heads;
  };

  const takeCheckpoint = async (organizationId: string, head: Position, newest: Link, at: string) => {
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

/** A copy of a sealed row under another organization or time is no event of that organization or time. */
function isInPlace({ canonical, eventId, organizationId, timestamp, exact }: Candidate): boolean {
  if (!exact) return false;
  try {
    const said = JSON.parse(canonical);
    return said.eventId === eventId && said.organizationId === organizationId && said.timestamp === timestamp;
  } catch {
    return false;
  }
}

async function extend(
  head: Position,
  events: readonly Candidate[],
  linkedOn: string,
  pause: YieldToEventLoop,
): Promise<Link[]> {
  const links: Link[] = [];
  let previous = head.head;
  for (const event of events) {
    const link = {
      sequence: head.size + links.length + 1,
      eventId: event.eventId,
      time: microseconds(event.timestamp),
      eventHash: eventHash(event),
    };
    previous = linkHash(previous, linkRecord(link));
    links.push({ ...link, hash: previous, linkedOn });
    await pause();
  }
  return links;
}
