/**
 * The watch: what the gauge shows is found here, by looking all the time at what is new and at a piece of what is old. It
 * remembers where it has been, in this process only, and never has more to do in a round than fits between two.
 */

import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { DatabaseUnavailable, type Tx } from '../../../kernel/data/db.ts';
import type { PublicKey } from '../../../kernel/ports/signer.ts';
import { afterAnchor, isGenuine, type Position, positionOf } from '../chain/chain-heads.ts';
import { findLastSequences } from '../chain/links-store.ts';
import {
  checkpointFrom,
  checkpointUpTo,
  findGrown,
  findOrganizationAfter,
  findStray,
  hasUncounted,
  type Settled,
  settledIn,
  takeSnapshot,
  uncounted,
} from './evidence-store.ts';
import { walk } from './scope.ts';
import { isUnreadable, type VerifierDeps } from './verifier.ts';

/** Per round and however many chains there are: a fraction of a second's work. The last checkpoint is walked to its end. */
const newLinksAtMost = 10_000;
const oldLinksAtMost = 2_500;
const oldChainsAtMost = 20;
const chainsAtMost = 100;

interface Round {
  readonly tx: Tx;
  /** Before the snapshot was taken: chains grow meanwhile, and what is remembered of them since is not in it. */
  readonly known: ReadonlyMap<string, Position>;
  readonly keys: readonly PublicKey[];
  readonly settled: Settled;
  readonly rowByRow: boolean;
}

/** Where the old part is being looked at: in this chain, from here; without a position, behind it. */
interface Place {
  readonly organizationId: string | undefined;
  readonly position: Position | undefined;
  /** The chain begins there: what is older than that has no business being there. */
  readonly isFirst?: boolean;
}

/** Each round answers whether it has come to the last chain and the next begins with the first. */
export function createWatch(deps: Omit<VerifierDeps, 'pending'>): () => Promise<boolean> {
  const { db, clock, readStatement, keyring, positions, alarm, drain } = deps;
  const walkedTo = new Map<string, Position>();
  let lookedAt: number | undefined;
  let place: Place = { organizationId: undefined, position: undefined };
  /** Which of the chains that we have seen is the next to be asked for. */
  let nextRemembered = 0;
  /** Chains that have grown since we came to them; whoever has waited longest comes first. */
  const waiting = new Set<string>();

  /** Answers how many links it walked: those since this process has been there, or else the newest. */
  const checkNew = async (round: Round, organizationId: string, links: number): Promise<number> => {
    const { tx, known: before } = round;
    const newest = (await positions.newest(tx, [organizationId], before)).get(organizationId);
    if (newest?.problem !== undefined) alarm.raise({ organizationId, problem: newest.problem });
    if (!newest?.position) return 0;
    const { position } = newest;
    const start = await startOf(round, organizationId, position.size - links);
    if (start) await walkOn(round, organizationId, start);
    walkedTo.set(organizationId, position);
    positions.remember(organizationId, position);
    return start ? position.size - start.size : 0;
  };

  const startOf = async (
    { tx, keys }: Round,
    organizationId: string,
    low: number,
  ): Promise<Position | undefined> => {
    const known = walkedTo.get(organizationId);
    if (known && known.size >= low) return known;
    const row = await checkpointUpTo(tx, organizationId, low);
    if (!row) return positions.beginning(organizationId);
    if (await isGenuine(readStatement, row, keys)) return positionOf(row);
    alarm.raise({ organizationId, problem: `checkpoint ${row.number} is not what a trusted key has signed` });
    return undefined;
  };

  /**
   * What can be read in no way, somebody has made so. The round ends there, since SQL may not go on; the next one leaves the chain
   * out, so that it cannot keep the watch from the others.
   */
  const orLeaveOut = async <T>(
    { rowByRow }: Round,
    organizationId: string,
    work: () => Promise<T>,
    leaveOut: () => void,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DatabaseUnavailable || (isUnreadable(error) && !rowByRow)) throw error;
      alarm.raise({ organizationId, problem: 'what is recorded cannot be read' });
      leaveOut();
      throw error;
    }
  };

  const walkOn = async (
    { tx, keys, settled, rowByRow }: Round,
    organizationId: string,
    start: Position,
    through?: number,
  ): Promise<Position> => {
    const { anchor } = await positions.anchor(tx, organizationId);
    // Retention may have overtaken us.
    const from = anchor && anchor.checkpoint.number > start.number ? afterAnchor(anchor) : start;
    const droppedThrough = anchor?.droppedThrough;
    const way = { organizationId, from, through, settled, keys, droppedThrough, rowByRow };
    const walked = await walk(tx, readStatement, way);
    if (walked.finding) alarm.raise(walked.finding);
    return walked.position;
  };

  /** Small chains by the score, a piece of a long one; the next round goes on there. */
  const checkOld = async (round: Round) => {
    let left = oldLinksAtMost;
    for (let chains = 0; left > 0 && chains < oldChainsAtMost; chains += 1) {
      if (!place.position) place = await nextPlace(round);
      const { organizationId, position: from, isFirst = false } = place;
      if (!from || organizationId === undefined) return;
      const { to, isEnd } = await orLeaveOut(
        round,
        organizationId,
        () => checkPiece(round, organizationId, { from, isFirst, links: left }),
        () => {
          place = { organizationId, position: undefined };
        },
      );
      left -= to.size - from.size;
      place = { organizationId, position: isEnd ? undefined : to };
    }
  };

  /** The beginning of the next chain; of none behind the last. */
  const nextPlace = async ({ tx }: Round): Promise<Place> => {
    const organizationId = await findOrganizationAfter(tx, place.organizationId);
    if (organizationId === undefined) return { organizationId, position: undefined };
    const { anchor, problem } = await positions.anchor(tx, organizationId);
    if (problem !== undefined) alarm.raise({ organizationId, problem });
    const position = anchor ? afterAnchor(anchor) : positions.beginning(organizationId);
    return { organizationId, position, isFirst: true };
  };

  /** So many links, and the events of that time. Answers where it came to; whatever keeps us from going on is an end as well. */
  const checkPiece = async (
    round: Round,
    organizationId: string,
    { from, isFirst, links }: { from: Position; isFirst: boolean; links: number },
  ) => {
    const { tx, settled } = round;
    const goal = await checkpointFrom(tx, organizationId, from.number, from.size + links);
    const to = await walkOn(round, organizationId, from, goal?.number);
    // Events from before the chain, and of days to come, have no business there either.
    const stray = await findStray(tx, organizationId, settled, {
      ...(!isFirst && { from: Date.parse(from.at) }),
      ...(goal && { to: Date.parse(to.at) }),
    });
    if (stray) alarm.raise({ organizationId, eventId: stray.eventId, problem: 'the event is in no link' });
    if (await hasUncounted(tx, organizationId)) alarm.raise({ organizationId, problem: uncounted });
    const [last] = goal ? [] : await findLastSequences(tx, [organizationId]);
    if (last && last.sequence > to.size)
      alarm.raise({ organizationId, problem: 'there are links that no checkpoint covers' });
    return { to, isEnd: !goal || to.number <= from.number };
  };

  const checkWaiting = async (round: Round) => {
    let left = newLinksAtMost;
    for (const organizationId of [...waiting].slice(0, chainsAtMost)) {
      if (left <= 0) return;
      const done = () => waiting.delete(organizationId);
      left -= await orLeaveOut(round, organizationId, () => checkNew(round, organizationId, left), done);
      done();
    }
  };

  /** A few of the chains that this process has seen: they must still end where they ended, or later. */
  const checkRemembered = async ({ tx, known }: Round) => {
    const behind = nextRemembered + chainsAtMost;
    const some = [...known.keys()].slice(nextRemembered, behind);
    nextRemembered = behind < known.size ? behind : 0;
    for (const [organizationId, { problem }] of await positions.newest(tx, some, known))
      if (problem !== undefined) alarm.raise({ organizationId, problem });
  };

  const look = (seen: string, since: string, rowByRow: boolean) => {
    const known = positions.known();
    return db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const settled = await settledIn(tx, seen);
      const { keys, problem } = await keyring.trust(tx);
      if (problem !== undefined) return alarm.raise({ problem });
      alarm.clear(undefined);
      const round = { tx, known, keys, settled, rowByRow };
      await checkRemembered(round);
      for (const organizationId of await findGrown(tx, since)) waiting.add(organizationId);
      await checkOld(round);
      await checkWaiting(round);
    });
  };

  const round = async (): Promise<boolean> => {
    const seen = await drain();
    const now = clock.now();
    const since = new Date((lookedAt ?? now) - 60_000).toISOString();
    await look(seen, since, false).catch((error) => {
      if (!isUnreadable(error)) throw error;
      return look(seen, since, true);
    });
    lookedAt = now;
    return place.organizationId === undefined;
  };

  /** One at a time: the loop and whoever wants to know now share the place that the watch has come to. */
  const together = createBatcher({
    run: async (askers: readonly undefined[]) => {
      const ended = await round();
      return askers.map(() => ended);
    },
    maxBatch: 1_000,
    concurrency: 1,
    maxQueue: 1_000,
  });
  return () => together(undefined);
}
