/**
 * Verification of one organization's audit log, by the browser alone. The server gives the evidence; its own opinion does not
 * count. Pure: the evidence and the clock are given. The page ends it with its worker.
 */
import { createStatementReader } from '../../../../../sdk/typescript/src/audit/statement-reader.ts';
import type { ReadStatement } from '../../../../../sdk/typescript/src/audit/statements.ts';
import { acceptPage, type ChainChecks, type ChainHead, type ChainState, startChain } from './chain.ts';
import { createLinkedEvents, findUnlinked } from './completeness.ts';
import type { ChainPage, Evidence, RememberedCheckpoint, ShownEvent } from './evidence.ts';
import { type Finding, finding } from './findings.ts';
import { readTrust } from './trust.ts';
import { type Unproven, unlessUnsupported } from './unproven.ts';

export interface Progress {
  /** Events whose hashes were computed again. */
  readonly checked: number;
  readonly size: number;
}

export interface VerificationOptions {
  readonly evidence: Evidence;
  /** Events on display: each must say the same as the chain. */
  readonly shown?: readonly ShownEvent[];
  /** The newest checkpoint that this browser verified earlier: it must still be there. */
  readonly remembered?: RememberedCheckpoint | undefined;
  /** Changes a page after it was fetched: for the demonstration. */
  readonly alter?: (page: ChainPage) => ChainPage;
  readonly now: () => number;
  onProgress?(progress: Progress): void;
}

export interface Intact {
  readonly status: 'intact';
  readonly events: number;
  readonly checkpoints: number;
  readonly signatures: number;
  readonly startsAfter: number;
  /** Undefined for a log without events. */
  readonly newest: RememberedCheckpoint | undefined;
}

export type Verdict =
  | Intact
  | { readonly status: 'broken'; readonly checked: number; readonly finding: Finding }
  | Unproven;

const pageSize = 1_000;

export const verifyLog = (options: VerificationOptions): Promise<Verdict> =>
  unlessUnsupported(async () => {
    try {
      return await verify(options);
    } catch (error) {
      // Evidence of another shape than agreed: a changed row, or a server that answers with something else.
      if (error instanceof TypeError) return { status: 'broken', checked: 0, finding: finding('UNREADABLE') };
      throw error;
    }
  });

async function verify(options: VerificationOptions): Promise<Verdict> {
  const { evidence, shown = [], remembered } = options;
  const readStatement = createStatementReader();
  let signatures = 0;
  const read: ReadStatement = async (...statement) => {
    const claims = await readStatement(...statement);
    if (claims) signatures += 1;
    return claims;
  };
  const linked = createLinkedEvents();
  let sought = remembered;
  let state: ChainState | undefined;
  const broken = (problem: Finding): Verdict => ({
    status: 'broken',
    checked: state ? state.sequence - state.startsAfter : 0,
    finding: problem,
  });

  const onCheckpoint = ({ number, hash, size }: ChainHead): Finding | undefined => {
    if (number !== sought?.number) return undefined;
    const problem =
      hash === sought.hash ? undefined : finding('CHECKPOINT_LOST', { sequence: size, checkpoint: number });
    sought = undefined;
    return problem;
  };

  const first = await fetchPage(options, undefined);
  // After the first page, in which all events were linked: a key that signed one of them has its statement by now.
  const trust = await readTrust(read, evidence);
  if (trust.finding) return broken(finding('KEY_NOT_TRUSTED'));
  const checks: ChainChecks = {
    read,
    keys: trust.keys,
    shown: new Map(shown.map((event) => [event.eventId, event])),
    onCheckpoint,
    onLink: ({ eventId, time, event }) => event && linked.add(eventId, Date.parse(time)),
  };
  const start = await startChain(checks, first);
  if (start.finding) return broken(start.finding);
  state = start.state;
  // Retention dropped it during the verification.
  if (sought && sought.number <= state.checkpoint.number) sought = undefined;

  const problem = await verifyPages(options, checks, state, first);
  if (problem) return broken(problem);
  if (sought) return broken(finding('CHECKPOINT_LOST', { sequence: sought.size, checkpoint: sought.number }));

  const linkedUntil = Date.parse(state.checkpoint.at);
  const { suspects, finding: notListed } = await findUnlinked(evidence, linked, {
    now: options.now(),
    linkedUntil,
  });
  if (notListed) return broken(notListed);
  if (suspects.length > 0) {
    // This links all events that are recorded by now, and the suspects must be among them.
    const later = await fetchPage(options, undefined, 1);
    const more = await verifyPages(options, checks, state, { ...later, links: [], checkpoints: [] });
    if (more) return broken(more);
    const unlinked = suspects.find((event) => !linked.has(event));
    if (unlinked) return broken(finding('EVENT_NOT_LINKED', { eventId: unlinked.eventId }));
  }
  const { number, size, hash, at } = state.checkpoint;
  return {
    status: 'intact',
    events: linked.size,
    checkpoints: state.checkpoints,
    signatures,
    startsAfter: state.startsAfter,
    newest: hash === null ? undefined : { number, size, hash, time: at },
  };
}

/** From the state to the end that `first` names. */
async function verifyPages(
  options: VerificationOptions,
  checks: ChainChecks,
  state: ChainState,
  first: ChainPage,
): Promise<Finding | undefined> {
  const { size } = first;
  if (size < state.sequence) return finding('CHAIN_SHRANK', { sequence: size + 1 });
  let page = first;
  for (;;) {
    const problem = await acceptPage(checks, state, page);
    options.onProgress?.({ checked: state.sequence - state.startsAfter, size: size - state.startsAfter });
    if (problem) return problem;
    if (state.sequence >= size) break;
    const before = state.sequence;
    // No more than to the end: the links after it may have come later, and their checkpoint is not in this page.
    page = await fetchPage(options, before, Math.min(pageSize, size - before));
    if (page.links.length === 0) return finding('LINK_MISSING', { sequence: before + 1 });
  }
  return state.checkpoint.size === state.sequence
    ? undefined
    : finding('LINKS_WITHOUT_CHECKPOINT', { sequence: state.checkpoint.size + 1 });
}

async function fetchPage(
  { evidence, alter = (page) => page }: VerificationOptions,
  after: number | undefined,
  limit = pageSize,
): Promise<ChainPage> {
  return alter(await evidence.chain(after, limit));
}
