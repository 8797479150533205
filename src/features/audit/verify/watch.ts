/**
 * The watch: background verification, whose result is the integrity gauge. Each round verifies the new links and the next
 * part of the old ones. It remembers in this process how far it is, and limits the work of one round.
 */
import { isoTime } from '../../../kernel/clock.ts';
import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { isTemporary, type Tx } from '../../../kernel/data/db.ts';
import type { PublicKey } from '../../../kernel/ports/signer.ts';
import { takeSnapshot } from '../chain/evidence-store.ts';
import type { TreeLeaves } from '../chain/leaves/tree-leaves.ts';
import {
  findChainsGrownSince,
  firstCheckpointFromSize,
  lastCheckpointUpToSize,
} from '../chain/segments-store.ts';
import type { TreeHeadRow } from '../chain/statements.ts';
import type { TreeHeads } from '../chain/tree-heads.ts';
import { type ChainHead, emptyHead, headAtAnchor, headOf, signatureFinding } from '../chain/verify-chain.ts';
import { type Finding, finding } from '../findings.ts';
import {
  findDueUnlinked,
  findOrganizationAfter,
  hasInconsistentLinks,
  hasRowsBeforeFirst,
  type LinkingCutoff,
  readLinkingCutoff,
} from './completeness-store.ts';
import { verifyRange } from './range.ts';
import { verifyTreeHeads } from './tree-head-scan.ts';
import { isInvalidData, type VerifierDeps } from './verifier.ts';

/** Per round: a fraction of a second of work, for any number of chains. The last checkpoint is verified to its end. */
const maxNewLinks = 10_000;
const maxOldLinks = 2_500;
const maxOldChains = 20;
const maxNewChains = 100;
const maxTreeHeads = { heads: 1_000, leaves: 5_000 };

interface Round {
  readonly tx: Tx;
  /** From before the snapshot: chains grow, and heads that were seen later are not in it. */
  readonly seenHeads: ReadonlyMap<string, ChainHead>;
  readonly seenTreeHead: TreeHeadRow | undefined;
  readonly keys: readonly PublicKey[];
  readonly cutoff: LinkingCutoff;
  readonly rowByRow: boolean;
  /** The log continues the one that this process has seen. Otherwise the heads that it has seen stay. */
  readonly isContinued?: boolean;
}

/** How far the scan of old links is: at this head of this chain. Without a head, at the end of the chain. */
interface ScanCursor {
  readonly organizationId: string | undefined;
  readonly head: ChainHead | undefined;
  /** At the start of the chain: earlier events are checked, too. */
  readonly isStart?: boolean;
}

/** Each round returns whether the scan of old links reached the last chain; the next round starts at the first. */
export function createWatch(
  deps: Omit<VerifierDeps, 'unlinked' | 'treeLeaves'> & {
    readonly treeHeads: TreeHeads;
    readonly treeLeaves: TreeLeaves;
  },
): () => Promise<boolean> {
  const { db, clock, readStatement, keyring, chainHeads, treeHeads, treeLeaves, integrity, drain } = deps;
  const { logContinuation } = deps;
  const verifiedTo = new Map<string, ChainHead>();
  let lastRoundAt: number | undefined;
  let cursor: ScanCursor = { organizationId: undefined, head: undefined };
  /** The index of the next seen chain whose head is checked. */
  let nextSeen = 0;
  /** The last tree head that the scan has verified; undefined at the start. */
  let lastTreeHead: TreeHeadRow | undefined;
  /** Chains with new links, in the order in which they were found. */
  const grownChains = new Set<string>();

  const raise = (problem: Finding | undefined) => {
    if (problem) integrity.raise(problem);
  };

  /** Verifies the links since the last round, at most about `maxLinks`. Returns their number. */
  const verifyNew = async (round: Round, organizationId: string, maxLinks: number): Promise<number> => {
    const { tx, seenHeads, isContinued } = round;
    const newest = (await chainHeads.newest(tx, [organizationId], seenHeads)).get(organizationId);
    raise(newest?.finding);
    if (!newest?.head) return 0;
    const { head } = newest;
    const start = await startOf(round, organizationId, head.size - maxLinks);
    if (start) await verifyFrom(round, organizationId, start);
    verifiedTo.set(organizationId, head);
    if (isContinued) chainHeads.markSeen(organizationId, head);
    return start ? head.size - start.size : 0;
  };

  /** Where the verification of new links starts: not before the size `minSize`, or the checkpoint next to it. */
  const startOf = async (
    { tx, keys }: Round,
    organizationId: string,
    minSize: number,
  ): Promise<ChainHead | undefined> => {
    const verified = verifiedTo.get(organizationId);
    if (verified && verified.size >= minSize) return verified;
    const row = await lastCheckpointUpToSize(tx, organizationId, minSize);
    if (!row) return emptyHead(organizationId);
    const invalid = await signatureFinding(readStatement, row, keys);
    raise(invalid);
    return invalid ? undefined : headOf(row);
  };

  /**
   * A chain that cannot be read at all was tampered with. The error ends the round, because PostgreSQL has aborted its
   * transaction. The next round skips the chain, so that it does not block the verification of the others.
   */
  const orSkip = async <T>(
    { rowByRow }: Round,
    organizationId: string,
    work: () => Promise<T>,
    skip: () => void,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (isTemporary(error) || (isInvalidData(error) && !rowByRow)) throw error;
      integrity.raise(finding('ROW_UNREADABLE', { organizationId }));
      skip();
      throw error;
    }
  };

  const verifyFrom = async (
    { tx, keys, cutoff, rowByRow }: Round,
    organizationId: string,
    start: ChainHead,
    through?: number,
  ): Promise<ChainHead> => {
    const { anchor } = await chainHeads.anchor(tx, organizationId);
    // Retention may have dropped the start.
    const from = anchor && anchor.checkpoint.number > start.number ? headAtAnchor(anchor) : start;
    const droppedThrough = anchor?.droppedThrough;
    const scope = { organizationId, from, through, cutoff, keys, droppedThrough, rowByRow };
    const result = await verifyRange(tx, readStatement, scope);
    raise(result.finding);
    return result.head;
  };

  /** Several small chains, or a part of a long one. The next round continues there. */
  const verifyOldChains = async (round: Round) => {
    let links = maxOldLinks;
    for (let chains = 0; links > 0 && chains < maxOldChains; chains += 1) {
      if (!cursor.head) cursor = await nextChain(round);
      const { organizationId, head: from, isStart = false } = cursor;
      if (!from || organizationId === undefined) return;
      const { to, isEnd } = await orSkip(
        round,
        organizationId,
        () => verifyPart(round, organizationId, { from, isStart, maxLinks: links }),
        () => {
          cursor = { organizationId, head: undefined };
        },
      );
      links -= to.size - from.size;
      cursor = { organizationId, head: isEnd ? undefined : to };
    }
  };

  /** The start of the next chain. Without an organization after the last chain. */
  const nextChain = async ({ tx }: Round): Promise<ScanCursor> => {
    const organizationId = await findOrganizationAfter(tx, cursor.organizationId);
    if (organizationId === undefined) return { organizationId, head: undefined };
    const { anchor, finding: invalid } = await chainHeads.anchor(tx, organizationId);
    raise(invalid);
    const head = anchor ? headAtAnchor(anchor) : emptyHead(organizationId);
    return { organizationId, head, isStart: true };
  };

  /** Verifies about `maxLinks` links and the events of that time. A finding ends the chain as well. */
  const verifyPart = async (
    round: Round,
    organizationId: string,
    { from, isStart, maxLinks }: { from: ChainHead; isStart: boolean; maxLinks: number },
  ) => {
    const { tx, cutoff } = round;
    const goal = await firstCheckpointFromSize(tx, organizationId, from.size + maxLinks);
    const to = await verifyFrom(round, organizationId, from, goal?.number);
    // The first part includes events from before the chain, and the last part events of the future.
    const event = await findDueUnlinked(tx, organizationId, cutoff, {
      ...(!isStart && { from: Date.parse(from.at) }),
      ...(goal && { to: Date.parse(to.at) }),
    });
    if (event) integrity.raise(finding('EVENT_NOT_LINKED', { organizationId, eventId: event.eventId }));
    if (await hasRowsBeforeFirst(tx, organizationId))
      integrity.raise(finding('ROW_BEFORE_FIRST', { organizationId }));
    const { anchor } = await chainHeads.anchor(tx, organizationId);
    if (await hasInconsistentLinks(tx, organizationId, anchor?.droppedThrough))
      integrity.raise(finding('LINKS_INCONSISTENT', { organizationId }));
    return { to, isEnd: !goal || to.number <= from.number };
  };

  const verifyGrownChains = async (round: Round) => {
    let links = maxNewLinks;
    for (const organizationId of [...grownChains].slice(0, maxNewChains)) {
      if (links <= 0) return;
      const done = () => grownChains.delete(organizationId);
      links -= await orSkip(round, organizationId, () => verifyNew(round, organizationId, links), done);
      done();
    }
  };

  /** Some of the chains that this process has seen: each must still have the head that was seen, or a later one. */
  const checkSeenHeads = async ({ tx, seenHeads }: Round) => {
    const end = nextSeen + maxNewChains;
    const some = [...seenHeads.keys()].slice(nextSeen, end);
    nextSeen = end < seenHeads.size ? end : 0;
    for (const result of (await chainHeads.newest(tx, some, seenHeads)).values()) raise(result.finding);
  };

  /** The newest tree heads with their leaves, and the next of the old ones. Without a finding, the alarm of all chains ends. */
  const checkTreeHeads = async ({ tx, keys, seenTreeHead }: Round) => {
    const { row, invalid, lost } = await treeHeads.newest(tx, seenTreeHead);
    raise(lost ?? invalid);
    if (row && !invalid && !lost) treeHeads.markSeen(row);
    const newest = await treeLeaves.check(tx);
    raise(newest?.finding);
    const scan = await verifyTreeHeads(
      tx,
      { read: readStatement, keys, treeLeaves },
      lastTreeHead,
      maxTreeHeads,
    );
    raise(scan.finding);
    if (scan.incomplete) treeLeaves.markIncomplete(scan.incomplete);
    lastTreeHead = scan.last;
    if (!(lost ?? invalid ?? newest ?? scan.finding)) integrity.clear(undefined);
    return { isContinued: !lost };
  };

  const runInSnapshot = (processed: string, since: string, rowByRow: boolean) => {
    const seenHeads = chainHeads.allSeen();
    const seenTreeHead = treeHeads.lastSeen();
    return db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const cutoff = await readLinkingCutoff(tx, processed);
      const { keys, finding: untrusted } = await keyring.trust(tx);
      const unsound = untrusted ?? (await logContinuation.finding(tx));
      if (unsound) return integrity.raise(unsound);
      const round = { tx, seenHeads, seenTreeHead, keys, cutoff, rowByRow };
      const { isContinued } = await checkTreeHeads(round);
      await checkSeenHeads(round);
      for (const organizationId of await findChainsGrownSince(tx, since)) grownChains.add(organizationId);
      await verifyOldChains(round);
      await verifyGrownChains({ ...round, isContinued });
    });
  };

  const runRound = async (): Promise<boolean> => {
    const processed = await drain();
    const now = clock.now();
    const since = new Date((lastRoundAt ?? now) - 60_000).toISOString();
    await runInSnapshot(processed, since, false).catch((error) => {
      if (!isInvalidData(error)) throw error;
      return runInSnapshot(processed, since, true);
    });
    lastRoundAt = now;
    integrity.markChecked(isoTime(clock));
    return cursor.organizationId === undefined;
  };

  /** One round at a time, because the loop and other callers share the cursor. Concurrent callers share a round. */
  const runShared = createBatcher({
    name: 'audit.watch',
    run: async (callers: readonly undefined[]) => {
      const isEnd = await runRound();
      return callers.map(() => isEnd);
    },
    maxBatch: 1_000,
    concurrency: 1,
    maxQueue: 1_000,
  });
  return () => runShared(undefined);
}
