/**
 * Tree heads and their leaves. A chain whose end was removed is consistent by itself: its last checkpoint is signed. But the
 * tree head of a removed checkpoint still signs it. So no tree head may be missing among later ones, and the leaves that are
 * left must give the size and root of each. A tree head does not tell which organization lost a checkpoint: it can be any whose
 * chain ends before it.
 */

import { createYield } from '../../../../kernel/concurrency/yield.ts';
import type { Queryable } from '../../../../kernel/data/db.ts';
import { type Finding, finding } from '../../findings.ts';
import type { ChainHeads } from '../chain-heads.ts';
import { leafHash } from '../merkle.ts';
import { leavesFinding, treeHeadFinding } from '../rules.ts';
import { plainCheckpointText, statementHash, type TreeHeadRow } from '../statements.ts';
import { type DatedTreeHead, highestTreeHeadThrough, readTreeHeadsBackwards } from '../tree-heads-store.ts';
import { readLeaves, type StoredLeaf } from './leaves-store.ts';

export interface IncompleteTree {
  /** The number of its tree head. */
  readonly number: number;
  /** Its time. If the tree head itself is missing, that of the next one. */
  readonly at: string;
  readonly finding: Finding;
}

export interface TreeLeaves {
  /** The newest incomplete tree after `after`, among the newest tree heads: those with about `maxLeaves` leaves. */
  find(db: Queryable, after: number): Promise<IncompleteTree | undefined>;
  /**
   * The first check, for a connection without locks: it can take a second. After an error, the next call continues. Later
   * calls do nothing.
   */
  start(db: Queryable): Promise<void>;
  /**
   * The newest incomplete tree that this process knows. After the first call, a call compares only later tree heads, and the
   * one that was incomplete. With `isSigned`, the newest tree head has a valid signature: then the compared checkpoints are
   * marked as seen.
   */
  check(db: Queryable, isSigned: boolean): Promise<IncompleteTree | undefined>;
  /** A scan of older tree heads has found it. */
  markIncomplete(tree: IncompleteTree): void;
  /** This process has committed them with all their leaves. */
  markWritten(heads: readonly TreeHeadRow[]): void;
  /** The first of these tree heads whose leaves are not those that it signs. */
  firstIncomplete(db: Queryable, heads: readonly DatedTreeHead[]): Promise<IncompleteTree | undefined>;
  /** A tree head is missing right before `number`, and retention did not drop it. `below` is the last one before the gap. */
  gapFinding(db: Queryable, number: number, below: number | undefined): Promise<Finding | undefined>;
}

/** Less than half a second of work. */
const maxLeaves = 50_000;
const maxHeads = 10_000;
const headsPerPage = 500;
/** A bounded statement, and a bounded time between two statements. */
const leavesPerPart = 5_000;
/** How many leaves are hashed before the check yields to the event loop. */
const leavesPerYield = 500;
const noUpperBound = Number.MAX_SAFE_INTEGER;
/** No event is later. */
const unknownTime = '9999-12-31T23:59:59.999Z';
const dayMs = 86_400_000;

/** How far a scan is. */
interface ScanProgress {
  /** The lowest tree head that was compared. */
  readonly above: DatedTreeHead | undefined;
  /** The highest one. */
  readonly through: number | undefined;
  readonly headsLeft: number;
  readonly leavesLeft: number;
}

export function createTreeLeaves(deps: {
  chainHeads: Pick<ChainHeads, 'dropped' | 'lastSeen' | 'markSeen'>;
}): TreeLeaves {
  const { chainHeads } = deps;
  let checkedThrough = 0;
  let known: IncompleteTree | undefined;
  let started = false;
  let startProgress: ScanProgress | undefined;

  const markSeen = (leaf: StoredLeaf) => {
    const { organizationId, number, size, head, at } = leaf;
    if ((chainHeads.lastSeen(organizationId)?.number ?? 0) >= number) return;
    const hash = leafHash(plainCheckpointText(leaf));
    chainHeads.markSeen(organizationId, { number, size, head, at, hash });
  };

  const compare = async (db: Queryable, heads: readonly DatedTreeHead[], isTrusted: boolean) => {
    const leaves = new Map<number, StoredLeaf[]>(heads.map(({ number }) => [number, []]));
    for (const [day, ofDay] of Map.groupBy(heads, ({ takenOn }) => takenOn))
      for (const leaf of await readLeaves(db, day, ofDay)) leaves.get(leaf.tree)?.push(leaf);
    let droppedBefore: string | undefined;
    const yieldIfDue = createYield(leavesPerYield);
    for (const head of heads) {
      const left = leaves.get(head.number) ?? [];
      const problem = leavesFinding(head, left);
      const due = yieldIfDue(left.length);
      if (due) await due;
      if (!problem) {
        if (isTrusted) left.forEach(markSeen);
        continue;
      }
      // Retention keeps the day of the newest tree head, and drops the segments of that day.
      droppedBefore ??= (await chainHeads.dropped(db))?.before ?? '';
      if (head.takenOn >= droppedBefore) return { number: head.number, at: head.at, finding: problem };
    }
    return undefined;
  };

  const firstIncomplete: TreeLeaves['firstIncomplete'] = (db, heads) => compare(db, heads, false);

  const gapFinding: TreeLeaves['gapFinding'] = async (db, number, below) => {
    if (number === (below ?? 0) + 1) return undefined;
    const dropped = await chainHeads.dropped(db);
    const isDropped =
      dropped?.throughTreeHead === undefined
        ? dropped && (await isAmongFirst(db, dropped.before, number, below))
        : number - 1 <= dropped.throughTreeHead;
    return isDropped ? undefined : finding('TREE_HEAD_MISSING', { number: number - 1 });
  };

  /**
   * An anchor of an earlier version does not say how many tree heads were dropped. If clocks differed, retention leaves gaps among
   * those of its first days.
   */
  const isAmongFirst = async (db: Queryable, day: string, number: number, below: number | undefined) => {
    const firstDays = new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10);
    return below === undefined || number <= (await highestTreeHeadThrough(db, firstDays));
  };

  /** The gap between the lowest tree head of a scan and the next one that is left. */
  const gapBelow = async (db: Queryable, lowest: number, after: number) => {
    if (lowest <= after + 1) return undefined;
    const [below] = await readTreeHeadsBackwards(db, { before: lowest, after: 0, limit: 1 });
    return gapFinding(db, lowest, below?.number);
  };

  /**
   * Newest first. Each names the one before it, so a valid signature of the newest covers all of them. Reports its progress
   * after each part.
   */
  const scan = async (
    db: Queryable,
    { after, before, isSigned = false }: { after: number; before: number; isSigned?: boolean },
    from: ScanProgress = { above: undefined, through: undefined, headsLeft: maxHeads, leavesLeft: maxLeaves },
    onPart: (progress: ScanProgress) => void = () => {},
  ) => {
    let { above, through, headsLeft, leavesLeft } = from;
    let isTrusted = isSigned;
    const incomplete = (number: number, at: string, problem: Finding) => ({
      tree: { number, at, finding: problem },
      through,
    });
    while (headsLeft > 0 && leavesLeft > 0) {
      const bounds = { before: above?.number ?? before, after, limit: headsPerPage };
      const page = await readTreeHeadsBackwards(db, bounds);
      through ??= page[0]?.number;
      for (const part of partsOf(page, leavesPerPart)) {
        for (const head of part) {
          const problem = treeHeadFinding(head, undefined) ?? (above && (await linkFinding(db, head, above)));
          if (problem) return incomplete(above ? above.number - 1 : head.number, (above ?? head).at, problem);
          // Below a gap that retention left, the signature does not count.
          if (above && head.number !== above.number - 1) isTrusted = false;
          above = head;
          leavesLeft -= head.size;
        }
        const tree = await compare(db, part, isTrusted);
        if (tree) return { tree, through };
        headsLeft -= part.length;
        onPart({ above, through, headsLeft, leavesLeft });
        if (leavesLeft <= 0) return { tree: undefined, through };
      }
      if (page.length < headsPerPage) {
        const lowest = above?.number ?? before;
        const missing = lowest === noUpperBound ? undefined : await gapBelow(db, lowest, after);
        return missing
          ? incomplete(lowest - 1, above?.at ?? unknownTime, missing)
          : { tree: undefined, through };
      }
    }
    return { tree: undefined, through };
  };

  /** `above` names the tree head before it. */
  const linkFinding = async (db: Queryable, head: DatedTreeHead, above: DatedTreeHead) => {
    if (head.number < above.number - 1) return gapFinding(db, above.number, head.number);
    return above.previous === statementHash(head.signed)
      ? undefined
      : finding('TREE_HEAD_NOT_FOLLOWING', { number: above.number });
  };

  return {
    async find(db, after) {
      return (await scan(db, { after, before: noUpperBound })).tree;
    },
    firstIncomplete,
    gapFinding,
    markIncomplete(tree) {
      if (!known || known.number < tree.number) known = tree;
    },
    markWritten(heads) {
      const [first, last] = [heads.at(0), heads.at(-1)];
      if (first && last && first.number === checkedThrough + 1) checkedThrough = last.number;
    },
    async start(db) {
      if (started) return;
      const bounds = { after: checkedThrough, before: noUpperBound };
      const { tree, through } = await scan(db, bounds, startProgress, (progress) => {
        startProgress = progress;
      });
      started = true;
      startProgress = undefined;
      checkedThrough = Math.max(checkedThrough, through ?? 0);
      known = tree ?? known;
    },
    async check(db, isSigned) {
      if (known) {
        const { number } = known;
        known = (await scan(db, { after: number - 1, before: number + 1 })).tree;
        // It was restored. An older one may be incomplete, too.
        if (!known) checkedThrough = 0;
      }
      const { tree, through } = await scan(db, { after: checkedThrough, before: noUpperBound, isSigned });
      checkedThrough = Math.max(checkedThrough, through ?? 0);
      known = tree ?? known;
      return known;
    },
  };
}

/** The chain ends before an incomplete tree: the missing checkpoint may be its own. */
export const endFinding = (
  organizationId: string,
  lastTree: number,
  incomplete: IncompleteTree | undefined,
): Finding | undefined =>
  incomplete && lastTree < incomplete.number
    ? finding('CHAIN_END_MISSING', { number: incomplete.number }, { organizationId })
    : undefined;

/** Parts of at most about `limit` leaves, each with at least one tree head. */
export function* partsOf(heads: readonly DatedTreeHead[], limit: number): Generator<DatedTreeHead[]> {
  let part: DatedTreeHead[] = [];
  let leaves = 0;
  for (const head of heads) {
    if (part.length > 0 && leaves + head.size > limit) {
      yield part;
      part = [];
      leaves = 0;
    }
    part.push(head);
    leaves += head.size;
  }
  if (part.length > 0) yield part;
}
