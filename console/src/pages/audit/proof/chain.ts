/** The chain, page by page: every hash is computed again, and every checkpoint is checked at its place. */
import {
  type Finding as ChainFinding,
  finding as chainFinding,
} from '../../../../../sdk/typescript/src/audit/findings.ts';
import {
  type CheckpointRow,
  checkpointText,
  type PublicKey,
  type ReadStatement,
} from '../../../../../sdk/typescript/src/audit/statements.ts';
import * as rules from '../../../../../sdk/typescript/src/audit/verify-chain.ts';
import type { AuditChainCheckpoint, AuditLink } from '../../../api/generated.ts';
import type { ChainPage, ShownEvent } from './evidence.ts';
import { type Finding, finding, shownFinding } from './findings.ts';
import { differsFromText } from './shown.ts';

export type ChainHead = rules.ChainHead;

/** How far the chain is checked. */
export interface ChainState extends rules.ChainState {
  /** The last sequence that retention dropped. */
  readonly startsAfter: number;
  checkpoints: number;
}

export interface ChainChecks {
  readonly read: ReadStatement;
  readonly keys: readonly PublicKey[];
  /** Events on display, by id: each must say the same as the chain. */
  readonly shown: ReadonlyMap<string, ShownEvent>;
  /** For each checkpoint that follows. */
  onCheckpoint(head: ChainHead): Finding | undefined;
  /** For each link that is valid. */
  onLink(link: AuditLink): void;
}

/** Where the chain starts: at the beginning, or where a signed anchor of retention says. */
export async function startChain(
  { read, keys }: Pick<ChainChecks, 'read' | 'keys'>,
  { organizationId, anchor, startsAfter, inconsistentLinks }: ChainPage,
): Promise<{ state: ChainState; finding?: undefined } | { finding: Finding }> {
  if (inconsistentLinks) return { finding: finding('LINKS_INCONSISTENT') };
  const startAt = (head: ChainHead, droppedThrough?: string) => ({
    state: { ...rules.startChain(organizationId, head, droppedThrough), startsAfter, checkpoints: 0 },
  });
  if (!anchor)
    return startsAfter === 0
      ? startAt(rules.emptyHead(organizationId))
      : { finding: finding('ANCHOR_MISMATCH') };
  const row = { ...anchor, at: anchor.time };
  const { anchor: signed } = await rules.readAnchor(read, keys, organizationId, row);
  if (!signed) return { finding: finding('ANCHOR_NOT_SIGNED') };
  return signed.checkpoint.size === startsAfter
    ? startAt(rules.headAtAnchor(signed), signed.droppedThrough)
    : { finding: finding('ANCHOR_MISMATCH') };
}

/** Checks a page and moves the state on, up to the first finding. */
export async function acceptPage(
  checks: ChainChecks,
  state: ChainState,
  page: ChainPage,
): Promise<Finding | undefined> {
  if (page.organizationId !== state.organizationId) return finding('ANOTHER_ORGANIZATION');
  // Signatures do not depend on what came before, so all can be checked at once.
  const waiting = await Promise.all(
    page.checkpoints.map((each) => checkSignature(checks, rowOf(state.organizationId, each), each)),
  );
  for (const link of page.links) {
    const problem =
      acceptCheckpoints(checks, state, waiting, (size) => size < link.sequence) ??
      acceptLink(checks, state, link);
    if (problem) return problem;
    checks.onLink(link);
    const invalid = acceptCheckpoints(checks, state, waiting, (size) => size <= link.sequence);
    if (invalid) return invalid;
  }
  const [next] = waiting;
  if (!next) return undefined;
  return next.row.size > state.sequence
    ? finding('LINK_MISSING', { sequence: state.sequence + 1 })
    : acceptCheckpoints(checks, state, waiting, () => true);
}

type DatedRow = CheckpointRow & { readonly takenOn: string };

const rowOf = (
  organizationId: string,
  { headHash, time, linkedOn, ...rest }: AuditChainCheckpoint,
): DatedRow => ({ ...rest, organizationId, head: headHash, at: time, takenOn: linkedOn });

/** A checkpoint with the finding of its signature. */
interface CheckedCheckpoint {
  readonly row: DatedRow;
  readonly invalid: ChainFinding | undefined;
}

async function checkSignature(
  { read, keys }: ChainChecks,
  row: DatedRow,
  { inclusion }: AuditChainCheckpoint,
): Promise<CheckedCheckpoint> {
  const invalid = await rules.signatureFinding(read, row, keys);
  const isOther = inclusion !== null && inclusion.checkpoint !== checkpointText(row);
  return { row, invalid: invalid ?? (isOther ? chainFinding('INCLUSION_PROOF_INVALID', row) : undefined) };
}

function acceptCheckpoints(
  checks: ChainChecks,
  state: ChainState,
  waiting: CheckedCheckpoint[],
  isDue: (size: number) => boolean,
): Finding | undefined {
  for (let [next] = waiting; next && isDue(next.row.size); [next] = waiting) {
    waiting.shift();
    const { row, invalid } = next;
    const place = { sequence: state.sequence, checkpoint: row.number };
    if (invalid) return shownFinding(invalid, place);
    const { head, finding: notNext } = rules.nextHead(state.organizationId, state.checkpoint, row);
    if (notNext) return shownFinding(notNext, { ...place, checkpoint: state.checkpoint.number + 1 });
    const mismatch = rules.acceptCheckpoint(state, head);
    if (mismatch) return shownFinding(mismatch, place);
    state.checkpoints += 1;
    const lost = checks.onCheckpoint(head);
    if (lost) return lost;
  }
  return undefined;
}

function acceptLink({ shown }: ChainChecks, state: ChainState, link: AuditLink): Finding | undefined {
  const { event, eventId, sequence } = link;
  const next = { ...state };
  const problem = rules.acceptLink(next, rules.evidenceOf(link, event ?? undefined));
  if (problem) return shownFinding(problem);
  if (event && event.columns !== null) return finding('EVENT_COLUMNS_DIFFER', { sequence, eventId });
  const onDisplay = event && shown.get(eventId);
  if (onDisplay && differsFromText(onDisplay, rules.parseObject(event.canonical) ?? {}))
    return finding('EVENT_SHOWN_DIFFERS', { sequence, eventId });
  Object.assign(state, next);
  return undefined;
}
