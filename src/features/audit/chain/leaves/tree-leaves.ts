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
import { plainCheckpointText, statementHash, type TreeHeadRow } from '../statements.ts';
import type { TreeHeads } from '../tree-heads.ts';
import {
  type DatedTreeHead,
  highestTreeHeadThrough,
  readTreeHeads,
  readTreeHeadsBackwards,
} from '../tree-heads-store.ts';
import { leavesFinding, treeHeadFinding } from '../verify-chain.ts';
import { readLeaves, type StoredLeaf } from './leaves-store.ts';

export interface IncompleteTree {
  /** The number of its tree head. */
  readonly number: number;
  /** Its time. If the tree head itself is missing, that of the next one. */
  readonly at: string;
  readonly finding: Finding;
}

export interface TreeLeaves {
  /**
   * The newest incomplete tree after `after`. It reuses earlier comparisons of this process: a checkpoint that is removed after them
   * is missing from the chain, and the process has seen it. With `maxLeaves`, it compares only about so many leaves.
   */
  find(db: Queryable, after: number, maxLeaves?: number): Promise<IncompleteTree | undefined>;
  /**
   * For a connection without locks. The first call compares the newest tree heads, and can take a second. Each later call
   * compares the next older part, until all are compared. After an error, the next call continues.
   */
  start(db: Queryable): Promise<void>;
  /** The newest incomplete tree that this process knows. Compares later tree heads, and the one that was incomplete. */
  check(db: Queryable): Promise<IncompleteTree | undefined>;
  /** The newest incomplete tree that this process knows, without I/O. */
  known(): IncompleteTree | undefined;
  /** Whether `start` has compared all tree heads. */
  hasComparedAll(): boolean;
  /** A scan of older tree heads has found it. */
  markIncomplete(tree: IncompleteTree): void;
  /** This process has committed them with all their leaves, and marked the leaves as seen. */
  markWritten(heads: readonly TreeHeadRow[]): void;
  /** The first of these tree heads whose leaves are not those that it signs. */
  firstIncomplete(db: Queryable, heads: readonly DatedTreeHead[]): Promise<IncompleteTree | undefined>;
  /** A tree head is missing right before `number`, and retention did not drop it. `below` is the last one before the gap. */
  gapFinding(db: Queryable, number: number, below: number | undefined): Promise<Finding | undefined>;
}

/** The first part of `start`: less than half a second of work. */
const firstPart = { heads: 10_000, leaves: 50_000 };
const headsPerPage = 500;
/** A bounded statement, and a bounded time between two statements. Also each later part of `start`. */
const leavesPerPart = 5_000;
/** How many leaves are hashed before the check yields to the event loop. */
const leavesPerYield = 500;
const noUpperBound = Number.MAX_SAFE_INTEGER;
/** No event is later. */
const unknownTime = '9999-12-31T23:59:59.999Z';
const dayMs = 86_400_000;
const unlimited = { heads: Number.POSITIVE_INFINITY, leaves: Number.POSITIVE_INFINITY };

type LowestHead = Pick<DatedTreeHead, 'number' | 'at' | 'previous'>;

/** These tree heads are complete and signed, and their leaves are marked as seen. */
interface Compared {
  readonly lowest: LowestHead;
  readonly highest: TreeHeadRow;
}

/** The tree heads between two numbers that are not included. `above` is the one at `before`, if it was compared. */
interface ScanBounds {
  readonly after: number;
  readonly before: number;
  readonly above?: LowestHead | undefined;
  readonly limits: { readonly heads: number; readonly leaves: number };
}

interface ScanResult {
  readonly tree: IncompleteTree | undefined;
  /** False when the limits ended it. */
  readonly isEnd: boolean;
}

export function createTreeLeaves(deps: {
  chainHeads: Pick<ChainHeads, 'dropped' | 'lastSeen' | 'markSeen'>;
  treeHeads: Pick<TreeHeads, 'signatureFinding'>;
}): TreeLeaves {
  const { chainHeads, treeHeads } = deps;
  let compared: Compared | undefined;
  let known: IncompleteTree | undefined;
  let isStarted = false;
  let hasComparedAll = false;

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
   * Newest first. Each names the one before it, so the signature of the newest covers all of them. After a gap that retention left,
   * the next one needs a valid signature. `onPart` gets each part that is complete.
   */
  const scan = async (
    db: Queryable,
    { after, before, above: start, limits }: ScanBounds,
    onPart: (above: LowestHead | undefined, part: readonly DatedTreeHead[]) => void,
  ): Promise<ScanResult> => {
    let above = start;
    let { heads: headsLeft, leaves: leavesLeft } = limits;
    const incomplete = (number: number, at: string, problem: Finding) => ({
      tree: { number, at, finding: problem },
      isEnd: false,
    });
    while (headsLeft > 0 && leavesLeft > 0) {
      const page = await readTreeHeadsBackwards(db, {
        before: above?.number ?? before,
        after,
        limit: headsPerPage,
      });
      for (const part of partsOf(page, leavesPerPart)) {
        const abovePart = above;
        for (const head of part) {
          const problem = treeHeadFinding(head, undefined) ?? (await linkFinding(db, head, above));
          if (problem) return incomplete(above ? above.number - 1 : head.number, (above ?? head).at, problem);
          above = head;
          leavesLeft -= head.size;
        }
        const tree = await compare(db, part, true);
        if (tree) return { tree, isEnd: false };
        onPart(abovePart, part);
        headsLeft -= part.length;
        if (leavesLeft <= 0) return { tree: undefined, isEnd: false };
      }
      if (page.length < headsPerPage) {
        const lowest = above?.number ?? before;
        const missing = lowest === noUpperBound ? undefined : await gapBelow(db, lowest, after);
        return missing
          ? incomplete(lowest - 1, above?.at ?? unknownTime, missing)
          : { tree: undefined, isEnd: true };
      }
    }
    return { tree: undefined, isEnd: false };
  };

  /** `above` names the tree head before it; without that, a trusted key has signed it. */
  const linkFinding = async (db: Queryable, head: DatedTreeHead, above: LowestHead | undefined) => {
    if (above && head.number < above.number - 1) {
      const missing = await gapFinding(db, above.number, head.number);
      if (missing) return missing;
    } else if (above)
      return above.previous === statementHash(head.signed)
        ? undefined
        : finding('TREE_HEAD_NOT_FOLLOWING', { number: above.number });
    return treeHeads.signatureFinding(db, head);
  };

  /** Later tree heads than those that were compared. */
  const scanNewer = async (db: Queryable, after: number, limits: ScanBounds['limits']) => {
    let newest: TreeHeadRow | undefined;
    const from = compared;
    if (from) {
      const [next] = await readTreeHeads(db, from.highest.number, 1);
      if (!next) return { tree: undefined, isEnd: true };
      const lost = lostFinding(from.highest, next);
      if (lost) return { tree: { number: next.number, at: next.at, finding: lost }, isEnd: false };
    }
    const result = await scan(db, { after, before: noUpperBound, limits }, (above, part) => {
      newest ??= part[0];
      const [lowest, highest] = [part.at(-1), part[0]];
      if (from || !lowest || !highest) return;
      if (!compared) compared = { lowest, highest };
      else extendDown(above, lowest);
    });
    const isLater = newest && compared && newest.number > compared.highest.number;
    if (from && compared && isLater && result.isEnd && after <= compared.highest.number)
      compared = { ...compared, highest: newest as TreeHeadRow };
    return result;
  };

  /** Earlier ones, down to `after`. */
  const scanOlder = async (
    db: Queryable,
    after: number,
    limits: ScanBounds['limits'],
  ): Promise<ScanResult> => {
    if (!compared) return { tree: undefined, isEnd: false };
    const { lowest } = compared;
    return scan(db, { after, before: lowest.number, above: lowest, limits }, (above, part) =>
      extendDown(above, part.at(-1)),
    );
  };

  /** A concurrent scan may have moved on. */
  const extendDown = (above: LowestHead | undefined, lowest: LowestHead | undefined) => {
    if (compared && lowest && above?.number === compared.lowest.number) compared = { ...compared, lowest };
  };

  const compareOlder = async (db: Queryable, limits: ScanBounds['limits']) => {
    const { tree, isEnd } = await scanOlder(db, 0, limits);
    if (tree) markIncomplete(tree);
    hasComparedAll ||= isEnd;
  };

  const markIncomplete = (tree: IncompleteTree) => {
    if (!known || known.number <= tree.number) known = tree;
  };

  return {
    async find(db, after, maxLeaves = Number.POSITIVE_INFINITY) {
      const limits = { ...unlimited, leaves: maxLeaves };
      const { tree } = await scanNewer(db, Math.max(after, compared?.highest.number ?? 0), limits);
      if (tree || !compared || compared.lowest.number <= after + 1) return tree;
      return (await scanOlder(db, after, limits)).tree;
    },
    firstIncomplete,
    gapFinding,
    markIncomplete,
    known: () => known,
    hasComparedAll: () => hasComparedAll,
    markWritten(heads) {
      const [first, last] = [heads.at(0), heads.at(-1)];
      if (!first || !last) return;
      if (compared && first.number === compared.highest.number + 1) compared = { ...compared, highest: last };
      if (!compared && first.number === 1) compared = { lowest: first, highest: last };
    },
    async start(db) {
      if (hasComparedAll) return;
      if (isStarted || compared) {
        // A finding stays until it is resolved. Then the next older part follows.
        if (!known) await compareOlder(db, isStarted ? { ...unlimited, leaves: leavesPerPart } : firstPart);
        isStarted = true;
        return;
      }
      const { tree, isEnd } = await scanNewer(db, 0, firstPart);
      isStarted = true;
      if (tree) markIncomplete(tree);
      hasComparedAll = isEnd;
    },
    async check(db) {
      if (known) {
        const { number } = known;
        const bounds = { after: number - 1, before: number + 1, limits: unlimited };
        known = (await scan(db, bounds, () => {})).tree;
        // It was restored. An older one may be incomplete, too.
        if (!known && !hasComparedAll) await compareOlder(db, firstPart);
      }
      const { tree } = await scanNewer(db, compared?.highest.number ?? 0, compared ? unlimited : firstPart);
      if (tree) markIncomplete(tree);
      return known;
    },
  };
}

/** Another process continued from before the highest one that was compared. */
const lostFinding = ({ number, signed }: TreeHeadRow, next: TreeHeadRow): Finding | undefined =>
  next.number === number + 1 && next.previous !== statementHash(signed)
    ? finding('TREE_HEAD_LOST', { number })
    : undefined;

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
