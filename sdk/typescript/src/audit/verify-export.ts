/** Verification of an export: the rules of the chain, line by line, with public keys alone. */

import type { CheckpointPolicy } from '../transparency/judge-checkpoint.ts';
import { dayFinding, noDays, withDay } from './day.ts';
import {
  type AnchorLine,
  type CheckpointLine,
  type EndLine,
  type ExportLine,
  knownVersions,
  type LinkLine,
  type LogProofLine,
  parseLine,
  type StartLine,
} from './export-lines.ts';
import { parseLinkFast } from './fast-link-parser.ts';
import { type Finding, finding } from './findings.ts';
import type { linkHash } from './hashes.ts';
import { createLogProofs, type Witnessed } from './log-proofs.ts';
import { emptyManifest, manifestFinding, withChain, withEvent } from './manifest.ts';
import {
  createTreeHeadCheck,
  isAtAnchor,
  type OpenChain,
  openChain,
  unprovenCheckpoint,
} from './open-chain.ts';
import {
  type CheckpointEntry,
  type ExportStatement,
  entryHash,
  type PublicKey,
  type ReadStatement,
  readSigned,
} from './statements.ts';
import { createKeyRows, type Trust, trustFrom } from './trusted-keys.ts';
import {
  acceptCheckpoint,
  acceptLink,
  type ChainHead,
  type ChainState,
  coverageFinding,
  emptyHead,
  evidenceOf,
  headAtAnchor,
  headOf,
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
  /** With it, each chain must be in a checkpoint of the instance log that enough witnesses have cosigned. See `readLogTrust`. */
  readonly log?: CheckpointPolicy | undefined;
  onProgress?(events: number): void;
  /** The same function for a program that has hashed the links before. */
  readonly hashLink?: typeof linkHash | undefined;
}

export interface ExportVerdict {
  readonly events: number;
  readonly chains: number;
  /** The signed manifest. Without it, whole chains may be missing. */
  readonly statement?: ExportStatement;
  /** Of the export of a day: where its lines begin, and where they end. */
  readonly span?: ChainSpan;
  /** Null without `log`, and without witnesses. */
  readonly witnessed: WitnessedExport | null;
  /** The checkpoint of the instance log in the export: a signed note. */
  readonly logCheckpoint?: string;
  /** How many events that checkpoint covers. */
  readonly logEvents: number;
  readonly finding?: Finding;
  /** The number of the line with the finding, from 1; absent when it concerns the export as a whole. */
  readonly line?: number;
}

export interface ChainSpan {
  readonly organizationId: string;
  readonly from: ChainHead;
  readonly to: ChainHead;
}

export interface WitnessedExport extends Witnessed {
  /** How many events of the export the witnesses have seen. The others are newer than the checkpoint of the log. */
  readonly events: number;
}

/** One after the other. They mean nothing, and compressed, a thousand million of them are a few kilobytes. */
const maxEmptyLines = 1_000;

/** `lines` yields one line at a time, or several: a promise for each line costs more than the check of a line. */
export async function verifyExport(
  lines: Iterable<string> | AsyncIterable<string | readonly string[]>,
  { roots, read, externalCheckpoint, log, onProgress, hashLink }: ExportOptions,
): Promise<ExportVerdict> {
  const keyRows = createKeyRows();
  let trust: Trust | undefined;
  let chain: OpenChain | undefined;
  let manifest = emptyManifest;
  const wanted = externalCheckpoint && entryHash(externalCheckpoint);
  let hasExternalCheckpoint = wanted === undefined;
  let version: number | undefined;
  let isEnded = false;
  let statement: ExportStatement | undefined;
  let days = noDays;
  const treeHeadProblem = createTreeHeadCheck(read);
  const logProofs = createLogProofs(log);
  let logEvents = 0;
  let span: ChainSpan | undefined;

  const closeChain = async (keys: readonly PublicKey[]): Promise<Finding | undefined> => {
    if (!chain) return undefined;
    const { state, droppedThrough, lastCheckpoint, hasLogProof } = chain;
    const { organizationId, sequence, head } = state;
    const problem =
      coverageFinding(organizationId, sequence, state.checkpoint) ??
      (lastCheckpoint && !lastCheckpoint.inclusion
        ? await signatureFinding(read, lastCheckpoint, keys)
        : undefined) ??
      (lastCheckpoint && !hasLogProof ? logProofs.missing(organizationId) : undefined);
    if (problem) return problem;
    manifest = withChain(manifest, { organizationId, droppedThrough, head });
    span = { organizationId, from: chain.from, to: state.checkpoint };
    chain = undefined;
    return undefined;
  };

  const acceptAnchorLine = async (line: AnchorLine, keys: readonly PublicKey[]) => {
    const { organizationId } = line;
    const { anchor, finding: invalid } = await readAnchor(read, keys, organizationId, line);
    if (invalid) return invalid;
    const { droppedThrough } = anchor;
    const state = startChain(organizationId, headAtAnchor(anchor), droppedThrough);
    chain = openChain(state, droppedThrough, manifest.events);
    // Retention dropped the checkpoint itself; the signed anchor proves that it was in the log.
    if (state.checkpoint.hash === wanted) hasExternalCheckpoint = true;
    return undefined;
  };

  /** The signature proves that it was in the log, like an anchor. `anchor` is the head of the chain when the line before is its anchor. */
  const acceptStartLine = async (
    line: StartLine,
    keys: readonly PublicKey[],
    anchor: ChainHead | undefined,
  ) => {
    const { organizationId, number, at, takenOn } = line;
    if (takenOn !== at.slice(0, 10) || number <= (anchor?.number ?? 0))
      return finding('CHECKPOINT_NOT_FOLLOWING', { number }, { organizationId });
    const problem = await signatureFinding(read, line, keys);
    if (problem) return problem;
    const droppedThrough = chain?.droppedThrough ?? '';
    const head = headOf(line);
    chain = openChain(startChain(organizationId, head, droppedThrough), droppedThrough, manifest.events);
    days = { ...days, start: takenOn };
    if (head.hash === wanted) hasExternalCheckpoint = true;
    return undefined;
  };

  const acceptLogProofLine = async (line: LogProofLine): Promise<Finding | undefined> => {
    const open = chain?.state.organizationId === line.organizationId ? chain : undefined;
    const problem = await logProofs.accept(line, unprovenCheckpoint(open));
    if (problem || !open) return problem;
    open.hasLogProof = true;
    logEvents += manifest.events - open.eventsBefore;
    return undefined;
  };

  const acceptEndLine = async (line: EndLine, keys: readonly PublicKey[]) => {
    isEnded = true;
    if (line.signed === undefined)
      return line.events === manifest.events
        ? undefined
        : finding('EXPORT_UNSIGNED_COUNT', { found: manifest.events, stated: line.events });
    statement = await readSigned(read, 'export', line.signed, keys);
    if (!statement) return finding('EXPORT_NOT_SIGNED');
    const problem = manifestFinding(line, statement, manifest) ?? dayFinding(statement, days, manifest);
    return problem ?? (logProofs.note() === undefined ? logProofs.missing(undefined) : undefined);
  };

  const countLink = (state: ChainState, evidence: LinkEvidence): Finding | undefined => {
    manifest = withEvent(manifest);
    if (manifest.events % 1_000 === 0) onProgress?.(manifest.events);
    return acceptLink(state, evidence, hashLink);
  };

  const acceptChainLine = async (
    line: LinkLine | CheckpointLine,
    keys: readonly PublicKey[],
  ): Promise<Finding | undefined> => {
    const { organizationId } = line;
    chain ??= openChain(
      startChain(organizationId, emptyHead(organizationId), undefined),
      '',
      manifest.events,
    );
    if (line.kind === 'link') return countLink(chain.state, evidenceOf(line, line.event ?? undefined));
    chain.lastCheckpoint = line;
    days = withDay(days, line.takenOn);
    const { head, finding: notNext } = nextHead(organizationId, chain.state.checkpoint, line);
    if (notNext) return notNext;
    if (head.hash === wanted) hasExternalCheckpoint = true;
    return acceptCheckpoint(chain.state, head) ?? treeHeadProblem(line, keys);
  };

  const acceptLine = async (line: ExportLine): Promise<Finding | undefined> => {
    if (isEnded) return finding('EXPORT_CONTINUES');
    if ((version === undefined) !== (line.kind === 'export')) return finding('EXPORT_HEADER_INVALID');
    if (line.kind === 'export') {
      version = line.version;
      return knownVersions.includes(version) ? undefined : finding('EXPORT_VERSION_UNKNOWN', { version });
    }
    if ((line.kind === 'start' || line.kind === 'logProof') && version === 1)
      return finding('EXPORT_LINE_INVALID', openOrganization());
    if (line.kind === 'key') {
      // After the first chain it would not count.
      const isAccepted = !trust && keyRows.add(line);
      return isAccepted ? undefined : finding('EXPORT_LINE_INVALID', openOrganization());
    }
    trust ??= await trustFrom(read, roots, keyRows.rows);
    if (trust.finding) return trust.finding;
    const { keys } = trust;
    if (line.kind === 'logProof') return acceptLogProofLine(line);
    const open =
      'organizationId' in line && chain?.state.organizationId === line.organizationId ? chain : undefined;
    const anchor =
      line.kind === 'start' && open && isAtAnchor(open, days) ? open.state.checkpoint : undefined;
    const continuesChain = anchor || (open && (line.kind === 'link' || line.kind === 'checkpoint'));
    const problem = continuesChain ? undefined : await closeChain(keys);
    if (problem) return problem;
    if (line.kind === 'anchor') return acceptAnchorLine(line, keys);
    if (line.kind === 'start') return acceptStartLine(line, keys, anchor);
    if (line.kind === 'end') return acceptEndLine(line, keys);
    return acceptChainLine(line, keys);
  };

  const verdict = (problem: Finding | undefined, line?: number): ExportVerdict => ({
    events: manifest.events,
    chains: manifest.chains,
    ...(statement && { statement }),
    ...(statement?.day && span && { span }),
    witnessed: problem ? null : witnessedExport(),
    ...(logProofs.note() !== undefined && { logCheckpoint: logProofs.note() as string }),
    logEvents,
    ...(problem && { finding: problem }),
    ...(line !== undefined && { line }),
  });

  const witnessedExport = (): WitnessedExport | null => {
    const witnessed = logProofs.witnessed();
    return witnessed && { ...witnessed, events: logEvents };
  };

  const openOrganization = () => ({ organizationId: chain?.state.organizationId });

  const acceptText = async (text: string): Promise<Finding | undefined> => {
    const { line, finding: malformed } = parseLine(text, openOrganization());
    return malformed ?? acceptLine(line as ExportLine);
  };

  let number = 0;
  let emptyLines = 0;
  for await (const batch of lines)
    for (const text of typeof batch === 'string' ? [batch] : batch) {
      number += 1;
      emptyLines = text === '' ? emptyLines + 1 : 0;
      if (emptyLines > maxEmptyLines)
        return verdict(finding('EXPORT_LINE_INVALID', openOrganization()), number);
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
