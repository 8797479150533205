/** Verification of one organization's chain, whole or for a period. GET /audit/verify and the command line use it. */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { ReadStatement } from '../../../kernel/ports/signer.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import { takeSnapshot } from '../chain/evidence-store.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { endFinding as missingEndFinding, type TreeLeaves } from '../chain/leaves/tree-leaves.ts';
import { firstCheckpointSince, lastCheckpointBefore } from '../chain/segments-store.ts';
import type { UnlinkedEvents } from '../chain/unlinked-events.ts';
import {
  type ChainHead,
  emptyHead,
  headAtAnchor,
  headOf,
  signatureFinding,
  truncationFinding,
} from '../chain/verify-chain.ts';
import { type Finding, finding } from '../findings.ts';
import type { IntegrityStatus } from '../integrity-status.ts';
import type { LogContinuation } from '../log-continuation.ts';
import { clampTime, type Period } from '../period.ts';
import {
  countDue,
  countDueWithin,
  findDueUnlinked,
  hasInconsistentLinks,
  hasRowsBeforeFirst,
  type LinkingCutoff,
  readLinkingCutoff,
} from './completeness-store.ts';
import { type RangeResult, verifyRange } from './range.ts';

export interface VerifierDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly readStatement: ReadStatement;
  readonly keyring: Keyring;
  readonly chainHeads: ChainHeads;
  readonly treeLeaves: Pick<TreeLeaves, 'find'>;
  readonly integrity: IntegrityStatus;
  readonly unlinked: Pick<UnlinkedEvents, 'findDeleted'>;
  readonly logContinuation: Pick<LogContinuation, 'finding'>;
  /** Links all events, and returns a snapshot: the sequencer has processed every event that is visible in it. */
  drain(): Promise<string>;
}

export interface Verdict {
  readonly checked: number;
  readonly finding?: Finding;
  /** The newest checkpoint, when there is no finding. */
  readonly head?: ChainHead;
}

export interface VerifyOptions {
  readonly onProgress?: ((events: number) => void) | undefined;
  /** All tree heads were verified with their leaves a moment ago. Otherwise those after the end of the chain are verified. */
  readonly treeHeadsVerified?: boolean;
  /** Of the tree heads after the end of the chain, the newest with about so many leaves; all when left out. */
  readonly maxLeaves?: number;
}

export interface Verifier {
  verify(organizationId: string, period?: Period, options?: VerifyOptions): Promise<Verdict>;
}

/** The state before the snapshot is taken: the snapshot must have all of it. */
interface StateBeforeSnapshot {
  readonly processed: string;
  readonly lastSeen: ChainHead | undefined;
}

interface VerificationRequest extends VerifyOptions {
  readonly organizationId: string;
  readonly period: Period | undefined;
}

/** An event is linked within seconds. The allowance is for clock skew and for transactions that were open for long. */
const allowanceMs = 600_000;

export function createVerifier(deps: VerifierDeps): Verifier {
  const { db, readStatement, keyring, chainHeads, treeLeaves, integrity, unlinked, logContinuation } = deps;

  const verifyInSnapshot = (
    request: VerificationRequest,
    before: StateBeforeSnapshot,
    rowByRow: boolean,
  ): Promise<Verdict> =>
    db.transaction(async (tx) => {
      const { organizationId, period, onProgress } = request;
      await takeSnapshot(tx);
      const cutoff = await readLinkingCutoff(tx, before.processed);
      const { keys, finding: untrusted } = await keyring.trust(tx);
      const unsound = untrusted ?? (await logContinuation.finding(tx));
      if (unsound) return { checked: 0, finding: unsound };
      const { anchor, finding: invalidAnchor } = await chainHeads.anchor(tx, organizationId);
      if (invalidAnchor) return { checked: 0, finding: invalidAnchor };
      if (await hasRowsBeforeFirst(tx, organizationId))
        return { checked: 0, finding: finding('ROW_BEFORE_FIRST', { organizationId }) };
      if (await hasInconsistentLinks(tx, organizationId, anchor?.droppedThrough))
        return { checked: 0, finding: finding('LINKS_INCONSISTENT', { organizationId }) };
      const whole = {
        organizationId,
        from: anchor ? headAtAnchor(anchor) : emptyHead(organizationId),
        droppedThrough: anchor?.droppedThrough,
        seen: before.lastSeen,
        cutoff,
        period,
        keys,
        rowByRow,
        onProgress,
      };
      const bounds = period && (await boundsOf(tx, organizationId, period));
      if (bounds) {
        const part = await verifyRange(tx, readStatement, { ...whole, ...bounds });
        if (part.finding) return { checked: part.inPeriod, finding: part.finding };
        // With fewer, an event of the period was linked at quite another time, or not at all: verify the whole chain.
        if (part.inPeriod >= (await countDueWithin(tx, organizationId, cutoff, period))) {
          const removed = bounds.through === undefined ? await removedEnd(tx, request, part) : undefined;
          return { checked: part.inPeriod, ...(removed ? { finding: removed } : { head: part.head }) };
        }
      }
      const result = await verifyRange(tx, readStatement, whole);
      const problem =
        result.finding ??
        (await endFinding(tx, organizationId, result, cutoff, before)) ??
        (await removedEnd(tx, request, result));
      const checked = period ? result.inPeriod : result.events;
      return problem ? { checked, finding: problem } : { checked, head: result.head };
    });

  /** From the last checkpoint before the period to the first after it; undefined when the period needs the whole chain. */
  const boundsOf = async (tx: Tx, organizationId: string, { from, to }: Period) => {
    const { keys } = await keyring.trust(tx);
    const iso = (time: number) => new Date(clampTime(time)).toISOString();
    const start = await lastCheckpointBefore(tx, organizationId, iso(from - allowanceMs));
    const end = await firstCheckpointSince(tx, organizationId, iso(to + allowanceMs));
    if (!start || (await signatureFinding(readStatement, start, keys))) return undefined;
    return { from: headOf(start), fromTree: start.inclusion?.treeHead, through: end?.number };
  };

  /** The links are valid: is the chain also as long as it must be, with a link for every event? */
  const endFinding = async (
    tx: Tx,
    organizationId: string,
    { head, due }: RangeResult,
    cutoff: LinkingCutoff,
    { lastSeen }: StateBeforeSnapshot,
  ): Promise<Finding | undefined> => {
    const problem = truncationFinding(organizationId, lastSeen, head);
    if (problem || (await countDue(tx, organizationId, cutoff)) <= due) return problem;
    const event = await findDueUnlinked(tx, organizationId, cutoff);
    return finding('EVENT_NOT_LINKED', { organizationId, eventId: event?.eventId });
  };

  /** A removed end leaves no trace in the chain, but in the tree heads after it. */
  const removedEnd = async (
    tx: Tx,
    { organizationId, treeHeadsVerified = false, maxLeaves }: VerificationRequest,
    { lastTree }: RangeResult,
  ): Promise<Finding | undefined> =>
    treeHeadsVerified
      ? undefined
      : missingEndFinding(organizationId, lastTree, await treeLeaves.find(tx, lastTree, maxLeaves));

  return {
    async verify(organizationId, period, options) {
      const before = { processed: await deps.drain(), lastSeen: chainHeads.lastSeen(organizationId) };
      const request = { ...options, organizationId, period };
      const result = await verifyInSnapshot(request, before, false).catch((error) => {
        if (!isInvalidData(error)) throw error;
        return verifyInSnapshot(request, before, true);
      });
      const problem = result.finding ?? (await unlinked.findDeleted(organizationId, period));
      const verdict: Verdict = problem ? { checked: result.checked, finding: problem } : result;
      if (verdict.finding) integrity.raise(verdict.finding);
      else if (!period) {
        integrity.clear(organizationId);
        if (verdict.head) chainHeads.markSeen(organizationId, verdict.head);
      }
      return verdict;
    },
  };
}

/** SQLSTATE class 22, data exception: a row that was edited cannot be read in a bundle. */
export const isInvalidData = (error: unknown): boolean =>
  /^22/.test(String((error as { code?: unknown } | null)?.code ?? ''));
