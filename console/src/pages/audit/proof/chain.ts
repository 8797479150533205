/** The chain, page by page: every hash is computed again, and every checkpoint is checked at its place. */
import { type ChainHead, type CheckedCheckpoint, checkAlone, nextHead } from './checkpoints.ts';
import type { ChainLink, ChainPage, PublicKey, ShownEvent } from './evidence.ts';
import { type Finding, finding } from './findings.ts';
import { eventHash, firstHash, linkHash } from './hashes.ts';
import { differsFromText } from './shown.ts';
import type { SignatureReader } from './signatures.ts';

/** How far the chain is checked. */
export interface ChainState {
  readonly organizationId: string;
  /** Retention dropped the events before this time (milliseconds); NaN when it dropped none. */
  readonly droppedBefore: number;
  /** The last sequence that retention dropped. */
  readonly startsAfter: number;
  checkpoint: ChainHead;
  /** Sequence and hash of the last link. */
  sequence: number;
  head: string;
  checkpoints: number;
}

export interface ChainChecks {
  readonly reader: SignatureReader;
  readonly keys: readonly PublicKey[];
  /** Events on display, by id: each must say the same as the chain. */
  readonly shown: ReadonlyMap<string, ShownEvent>;
  /** For each checkpoint that follows. */
  onCheckpoint(head: ChainHead): Finding | undefined;
  /** For each link that is valid. */
  onLink(link: ChainLink): void;
}

const dayMs = 86_400_000;

/** Where the chain starts: at the beginning, or where a signed anchor of retention says. */
export async function startChain(
  { reader, keys }: Pick<ChainChecks, 'reader' | 'keys'>,
  { organizationId, anchor, startsAfter, inconsistentLinks }: ChainPage,
): Promise<{ state: ChainState; finding?: undefined } | { finding: Finding }> {
  if (inconsistentLinks) return { finding: finding('LINKS_INCONSISTENT') };
  const begin = { number: 0, size: 0, hash: null, time: new Date(0).toISOString() };
  const head = await firstHash(organizationId);
  const base = { organizationId, startsAfter, checkpoints: 0 };
  if (!anchor)
    return startsAfter === 0
      ? { state: { ...base, droppedBefore: Number.NaN, checkpoint: begin, sequence: 0, head } }
      : { finding: finding('ANCHOR_MISMATCH') };
  const claims = await reader.read(anchor.signed, 'anchor', keys);
  const isOurs =
    claims?.organizationId === organizationId && claims.number === anchor.number && claims.at === anchor.time;
  if (!isOurs) return { finding: finding('ANCHOR_NOT_SIGNED') };
  const last = claims.checkpoint as { number: number; size: number; head: string; hash: string | null };
  if (last.size !== startsAfter) return { finding: finding('ANCHOR_MISMATCH') };
  return {
    state: {
      ...base,
      droppedBefore: Date.parse(String(claims.droppedThrough)) + dayMs,
      checkpoint: { ...begin, number: last.number, size: last.size, hash: last.hash },
      sequence: last.size,
      head: last.head,
    },
  };
}

/** Checks a page and moves the state on, up to the first finding. */
export async function acceptPage(
  checks: ChainChecks,
  state: ChainState,
  page: ChainPage,
): Promise<Finding | undefined> {
  if (page.organizationId !== state.organizationId) return finding('ANOTHER_ORGANIZATION');
  // Each hash is compared with what the page says about the link before, so all can be computed at once.
  const [hashes, checkpoints] = await Promise.all([
    Promise.all(page.links.map((link, index) => hashesOf(page.links[index - 1]?.hash ?? state.head, link))),
    Promise.all(
      page.checkpoints.map((each) => checkAlone(checks.reader, checks.keys, state.organizationId, each)),
    ),
  ]);
  const waiting = [...checkpoints];
  for (const [index, link] of page.links.entries()) {
    const overdue = acceptCheckpoints(checks, state, waiting, (size) => size < link.sequence);
    const problem = overdue ?? linkFinding(checks, state, link, hashes[index] as LinkHashes);
    if (problem) return problem;
    state.sequence = link.sequence;
    state.head = link.hash;
    checks.onLink(link);
    const invalid = acceptCheckpoints(checks, state, waiting, (size) => size <= link.sequence);
    if (invalid) return invalid;
  }
  const [next] = waiting;
  if (!next) return undefined;
  return next.checkpoint.size > state.sequence
    ? finding('LINK_MISSING', { sequence: state.sequence + 1 })
    : acceptCheckpoints(checks, state, waiting, () => true);
}

interface LinkHashes {
  readonly link: string;
  readonly event: string | undefined;
}

async function hashesOf(previous: string, link: ChainLink): Promise<LinkHashes> {
  const [hash, event] = await Promise.all([
    linkHash(previous, link),
    link.event ? eventHash(link.event) : undefined,
  ]);
  return { link: hash, event };
}

function acceptCheckpoints(
  checks: ChainChecks,
  state: ChainState,
  waiting: CheckedCheckpoint[],
  isDue: (size: number) => boolean,
): Finding | undefined {
  for (let [next] = waiting; next && isDue(next.checkpoint.size); [next] = waiting) {
    waiting.shift();
    const result = nextHead(state.checkpoint, state, next);
    if (result.finding) return result.finding;
    state.checkpoint = result.head;
    state.checkpoints += 1;
    const lost = checks.onCheckpoint(result.head);
    if (lost) return lost;
  }
  return undefined;
}

function linkFinding(
  { shown }: ChainChecks,
  state: ChainState,
  link: ChainLink,
  hashes: LinkHashes,
): Finding | undefined {
  const { event, eventId } = link;
  const expected = state.sequence + 1;
  const place = { sequence: expected, eventId };
  if (link.sequence !== expected) return finding('LINK_MISSING', { sequence: expected });
  if (!event) {
    if (!(Date.parse(link.time) < state.droppedBefore)) return finding('EVENT_MISSING', place);
  } else {
    if (hashes.event !== link.eventHash) return finding('EVENT_CHANGED', place);
    if (event.columns !== null) return finding('EVENT_COLUMNS_DIFFER', place);
    const text = parse(event.canonical);
    const isOfLink =
      text?.organizationId === state.organizationId &&
      text.eventId === eventId &&
      typeof text.timestamp === 'string' &&
      `${text.timestamp.slice(0, -1)}000Z` === link.time;
    if (!isOfLink) return finding('EVENT_TEXT_OF_ANOTHER', place);
    const onDisplay = shown.get(eventId);
    if (onDisplay && differsFromText(onDisplay, text)) return finding('EVENT_SHOWN_DIFFERS', place);
  }
  return hashes.link === link.hash ? undefined : finding('LINK_HASH_MISMATCH', place);
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
