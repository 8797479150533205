/** Verification of an export: the rules of the chain, line by line, with public keys alone. */
import {
  type AnchorLine,
  type CheckpointLine,
  type EndLine,
  type ExportLine,
  exportVersion,
  type LinkLine,
  parseLine,
} from './export-lines.ts';
import { parseLinkFast } from './fast-link-parser.ts';
import { type Finding, finding } from './findings.ts';
import { emptyManifest, manifestFinding, withChain, withEvent } from './manifest.ts';
import {
  type CheckpointEntry,
  type CheckpointRow,
  type ExportStatement,
  entryHash,
  type PublicKey,
  type ReadStatement,
  readSigned,
} from './statements.ts';
import { type KeyRow, type Trust, trustFrom } from './trusted-keys.ts';
import {
  acceptCheckpoint,
  acceptLink,
  type ChainState,
  coverageFinding,
  emptyHead,
  evidenceOf,
  headAtAnchor,
  type LinkEvidence,
  nextHead,
  readAnchor,
  signatureFinding,
  startChain,
} from './verify-chain.ts';

export interface ExportOptions {
  /** The configured public keys. */
  readonly roots: readonly PublicKey[];
  readonly read: ReadStatement;
  /** It must be in the export. */
  readonly externalCheckpoint?: CheckpointEntry | undefined;
  onProgress?(events: number): void;
}

export interface ExportVerdict {
  readonly events: number;
  readonly chains: number;
  /** The signed manifest. Without it, whole chains may be missing. */
  readonly statement?: ExportStatement;
  readonly finding?: Finding;
  /** The number of the line with the finding, from 1; absent when it concerns the export as a whole. */
  readonly line?: number;
}

interface OpenChain {
  readonly state: ChainState;
  readonly droppedThrough: string;
  lastCheckpoint: CheckpointRow | undefined;
}

/** Their texts take a few megabytes. */
const maxVerifiedTreeHeads = 10_000;

/** A key for each day of 27 years. */
const maxKeys = 10_000;

/** `lines` yields one line at a time, or several: a promise for each line costs more than the check of a line. */
export async function verifyExport(
  lines: Iterable<string> | AsyncIterable<string | readonly string[]>,
  { roots, read, externalCheckpoint, onProgress }: ExportOptions,
): Promise<ExportVerdict> {
  const keyRows: KeyRow[] = [];
  let trust: Trust | undefined;
  let chain: OpenChain | undefined;
  let manifest = emptyManifest;
  const wanted = externalCheckpoint && entryHash(externalCheckpoint);
  let hasExternalCheckpoint = wanted === undefined;
  let isBegun = false;
  let isEnded = false;
  let statement: ExportStatement | undefined;

  /** Signed texts of tree heads, verified: chains that grew in the same pass share one. */
  const verifiedTreeHeads = new Set<string>();

  /**
   * A checkpoint names the one before, but not its tree head: each tree head needs a valid signature. A checkpoint that is
   * signed itself is named with its signature, so that of the last covers those before.
   */
  const treeHeadProblem = async (
    line: CheckpointLine,
    keys: readonly PublicKey[],
  ): Promise<Finding | undefined> => {
    if (!line.inclusion || verifiedTreeHeads.has(line.signed)) return undefined;
    const problem = await signatureFinding(read, line, keys);
    if (verifiedTreeHeads.size === maxVerifiedTreeHeads) verifiedTreeHeads.clear();
    if (!problem) verifiedTreeHeads.add(line.signed);
    return problem;
  };

  const closeChain = async (keys: readonly PublicKey[]): Promise<Finding | undefined> => {
    if (!chain) return undefined;
    const { state, droppedThrough, lastCheckpoint } = chain;
    const { organizationId, sequence, head } = state;
    const problem =
      coverageFinding(organizationId, sequence, state.checkpoint) ??
      (lastCheckpoint && !lastCheckpoint.inclusion
        ? await signatureFinding(read, lastCheckpoint, keys)
        : undefined);
    if (problem) return problem;
    manifest = withChain(manifest, { organizationId, droppedThrough, head });
    chain = undefined;
    return undefined;
  };

  const acceptAnchorLine = async (line: AnchorLine, keys: readonly PublicKey[]) => {
    const { organizationId } = line;
    const { anchor, finding: invalid } = await readAnchor(read, keys, organizationId, line);
    if (invalid) return invalid;
    const { droppedThrough } = anchor;
    const state = startChain(organizationId, headAtAnchor(anchor), droppedThrough);
    chain = { state, droppedThrough, lastCheckpoint: undefined };
    // Retention dropped the checkpoint itself; the signed anchor proves that it was in the log.
    if (state.checkpoint.hash === wanted) hasExternalCheckpoint = true;
    return undefined;
  };

  const acceptEndLine = async (line: EndLine, keys: readonly PublicKey[]) => {
    isEnded = true;
    if (line.signed === undefined)
      return line.events === manifest.events
        ? undefined
        : finding('EXPORT_UNSIGNED_COUNT', { found: manifest.events, stated: line.events });
    statement = await readSigned(read, 'export', line.signed, keys);
    return statement ? manifestFinding(line, statement, manifest) : finding('EXPORT_NOT_SIGNED');
  };

  const countLink = (state: ChainState, evidence: LinkEvidence): Finding | undefined => {
    manifest = withEvent(manifest);
    if (manifest.events % 1_000 === 0) onProgress?.(manifest.events);
    return acceptLink(state, evidence);
  };

  const acceptChainLine = async (
    line: LinkLine | CheckpointLine,
    keys: readonly PublicKey[],
  ): Promise<Finding | undefined> => {
    const { organizationId } = line;
    chain ??= {
      state: startChain(organizationId, emptyHead(organizationId), undefined),
      droppedThrough: '',
      lastCheckpoint: undefined,
    };
    if (line.kind === 'link') return countLink(chain.state, evidenceOf(line, line.event ?? undefined));
    chain.lastCheckpoint = line;
    const { head, finding: notNext } = nextHead(organizationId, chain.state.checkpoint, line);
    if (notNext) return notNext;
    if (head.hash === wanted) hasExternalCheckpoint = true;
    return acceptCheckpoint(chain.state, head) ?? treeHeadProblem(line, keys);
  };

  const acceptLine = async (line: ExportLine): Promise<Finding | undefined> => {
    if (isEnded) return finding('EXPORT_CONTINUES');
    const isFirst = !isBegun;
    isBegun = true;
    if (isFirst !== (line.kind === 'export')) return finding('EXPORT_HEADER_INVALID');
    if (line.kind === 'export')
      return line.version === exportVersion
        ? undefined
        : finding('EXPORT_VERSION_UNKNOWN', { version: line.version });
    if (line.kind === 'key') {
      // After the first chain it would not count.
      if (trust || keyRows.length === maxKeys) return finding('EXPORT_LINE_INVALID', openOrganization());
      keyRows.push(line);
      return undefined;
    }
    trust ??= await trustFrom(read, roots, keyRows);
    if (trust.finding) return trust.finding;
    const { keys } = trust;
    const continuesChain =
      (line.kind === 'link' || line.kind === 'checkpoint') &&
      chain?.state.organizationId === line.organizationId;
    const problem = continuesChain ? undefined : await closeChain(keys);
    if (problem) return problem;
    if (line.kind === 'anchor') return acceptAnchorLine(line, keys);
    if (line.kind === 'end') return acceptEndLine(line, keys);
    return acceptChainLine(line, keys);
  };

  const verdict = (problem: Finding | undefined, line?: number): ExportVerdict => ({
    events: manifest.events,
    chains: manifest.chains,
    ...(statement && { statement }),
    ...(problem && { finding: problem }),
    ...(line !== undefined && { line }),
  });

  const openOrganization = () => ({ organizationId: chain?.state.organizationId });

  const acceptText = async (text: string): Promise<Finding | undefined> => {
    const { line, finding: malformed } = parseLine(text, openOrganization());
    return malformed ?? acceptLine(line as ExportLine);
  };

  let number = 0;
  for await (const batch of lines)
    for (const text of typeof batch === 'string' ? [batch] : batch) {
      number += 1;
      if (text === '') continue;
      const link = parseLinkFast(text);
      const problem =
        chain && link?.organizationId === chain.state.organizationId
          ? countLink(chain.state, link.evidence)
          : await acceptText(text);
      if (problem) return verdict(problem, number);
    }
  if (!isEnded) return verdict(finding('EXPORT_TRUNCATED', openOrganization()));
  return verdict(hasExternalCheckpoint ? undefined : finding('EXTERNAL_CHECKPOINT_MISSING', {}));
}
