/**
 * What an export holds, added up in the same way by whoever writes it and by whoever checks it. Its last line has the sum
 * signed: a chain proves only itself, and says nothing of one that was taken out of the file or put into it.
 */
import { hashText } from '../chain/hashes.ts';
import type { ExportStatement } from '../chain/statements.ts';

export interface Contents {
  readonly chains: number;
  /** Links, whether retention has left their events or not. */
  readonly events: number;
  readonly hash: string;
}

export interface WholeChain {
  readonly organizationId: string;
  /** The last day of which retention has dropped the events, as the anchor says; empty where there is no anchor. */
  readonly droppedThrough: string;
  /** The hash of the last link, or where there is none, the one that the first would follow. */
  readonly head: string;
}

export const noContents: Contents = { chains: 0, events: 0, hash: '' };

export const withEvent = (contents: Contents): Contents => ({ ...contents, events: contents.events + 1 });

/**
 * The hash is sha256(hash so far " " organization id " " dropped through " " head) over texts, chain by chain in the order
 * of the file; the first hash so far is the empty text. So it stays of one size, however many chains there are. The day is
 * in it because an event up to that day may be missing: with a later anchor in its place, more could be taken out.
 */
export const withChain = (
  { chains, events, hash }: Contents,
  { organizationId, droppedThrough, head }: WholeChain,
): Contents => ({
  chains: chains + 1,
  events,
  hash: hashText(`${hash} ${organizationId} ${droppedThrough} ${head}`),
});

/** Why the file is not the one that was signed for; undefined when it is. The numbers stand beside the statement, too. */
export function contentsProblem(
  beside: Pick<Contents, 'chains' | 'events'>,
  signed: ExportStatement,
  found: Contents,
): string | undefined {
  if (signed.chains !== found.chains)
    return `the export has another number of chains (${found.chains}) than it was signed for (${signed.chains})`;
  if (signed.events !== found.events)
    return `the export has another number of events (${found.events}) than it was signed for (${signed.events})`;
  if (signed.contents !== found.hash) return 'the chains of the export are not those that it was signed for';
  return beside.chains === signed.chains && beside.events === signed.events
    ? undefined
    : 'the numbers in the last line are not those that were signed';
}
