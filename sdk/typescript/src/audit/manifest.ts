/**
 * The manifest of an export: counts, and one hash over all chains. The export and its verification compute it alike, and
 * the last line of the export has it signed. A chain proves only itself: without the manifest, a chain could be added to the
 * file or removed from it.
 */
import { type Finding, finding } from './findings.ts';
import { sha256 } from './sha256.ts';
import type { ExportStatement } from './statements.ts';

export interface ExportManifest {
  readonly chains: number;
  /** Links, including those whose events retention dropped. */
  readonly events: number;
  readonly hash: string;
}

export interface ExportedChain {
  readonly organizationId: string;
  /** The last day whose events retention dropped, from the anchor; empty without an anchor. */
  readonly droppedThrough: string;
  /** The hash of the last link; without links, the previous hash of the first. */
  readonly head: string;
}

export const emptyManifest: ExportManifest = { chains: 0, events: 0, hash: '' };

export const withEvent = (manifest: ExportManifest): ExportManifest => ({
  ...manifest,
  events: manifest.events + 1,
});

/**
 * The hash is sha256(hash so far " " organization id " " dropped through " " head), chain by chain in the order of the file;
 * the first hash so far is the empty text. The day is in it because events through that day may be missing: with a later
 * anchor in its place, more events could be removed.
 */
export const withChain = (
  { chains, events, hash }: ExportManifest,
  { organizationId, droppedThrough, head }: ExportedChain,
): ExportManifest => ({
  chains: chains + 1,
  events,
  hash: sha256(`${hash} ${organizationId} ${droppedThrough} ${head}`),
});

/** `stated` are the numbers in the last line, beside the signed statement. */
export function manifestFinding(
  stated: Pick<ExportManifest, 'chains' | 'events'>,
  signed: ExportStatement,
  found: ExportManifest,
): Finding | undefined {
  if (signed.chains !== found.chains)
    return finding('EXPORT_CHAIN_COUNT', { found: found.chains, signed: signed.chains });
  if (signed.events !== found.events)
    return finding('EXPORT_EVENT_COUNT', { found: found.events, signed: signed.events });
  if (signed.contents !== found.hash) return finding('EXPORT_CHAINS_DIFFER');
  return stated.chains === signed.chains && stated.events === signed.events
    ? undefined
    : finding('EXPORT_NUMBERS_DIFFER');
}
