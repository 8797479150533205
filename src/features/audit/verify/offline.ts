/** Offline verification of an export: the rules of the chain (chain/rules.ts), line by line, with public keys alone. */
import { duplicateField } from '../../../kernel/http/input/duplicate-field.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { type KeyRow, type Trust, trustFrom } from '../chain/keys/trusted-keys.ts';
import { type CheckpointRow, type ExportStatement, type Inclusion, readSigned } from '../chain/statements.ts';
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
} from '../chain/verify-chain.ts';
import {
  type AnchorLine,
  type CheckpointLine,
  type EndLine,
  type ExportLine,
  exportVersion,
  type LinkLine,
  maxLineLength,
} from '../export/lines.ts';
import { emptyManifest, manifestFinding, withChain, withEvent } from '../export/manifest.ts';
import { type Finding, type FindingPlace, finding } from '../findings.ts';
import { type ExternalCheckpoint, externalHash } from './external-checkpoint.ts';
import { parseLinkFast } from './fast-link-parser.ts';

export interface OfflineOptions {
  /** The configured public keys. */
  readonly roots: readonly PublicKey[];
  readonly read: ReadStatement;
  /** It must be in the export. */
  readonly externalCheckpoint?: ExternalCheckpoint | undefined;
  onProgress?(events: number): void;
}

export interface OfflineVerdict {
  readonly events: number;
  readonly chains: number;
  /** The signed manifest. Without it, whole chains may be missing. */
  readonly statement?: ExportStatement;
  readonly finding?: Finding;
}

interface OpenChain {
  readonly state: ChainState;
  readonly droppedThrough: string;
  lastCheckpoint: CheckpointRow | undefined;
}

/** Their texts take a few megabytes. */
const maxVerifiedTreeHeads = 10_000;

/** `lines` yields one line at a time, or several. */
export async function verifyExport(
  lines: AsyncIterable<string | readonly string[]>,
  { roots, read, externalCheckpoint, onProgress }: OfflineOptions,
): Promise<OfflineVerdict> {
  const keyRows: KeyRow[] = [];
  let trust: Trust | undefined;
  let chain: OpenChain | undefined;
  let manifest = emptyManifest;
  const wanted = externalCheckpoint && externalHash(externalCheckpoint);
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
      if (trust) return finding('EXPORT_LINE_INVALID', openOrganization());
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

  const verdict = (problem: Finding | undefined): OfflineVerdict => ({
    events: manifest.events,
    chains: manifest.chains,
    ...(statement && { statement }),
    ...(problem && { finding: problem }),
  });

  const openOrganization = () => ({ organizationId: chain?.state.organizationId });

  const acceptText = async (text: string): Promise<Finding | undefined> => {
    const line = parse(text);
    if (!line) return finding('EXPORT_LINE_INVALID', openOrganization());
    return fieldFinding(text, line, openOrganization()) ?? (await acceptLine(line));
  };

  for await (const batch of lines)
    for (const text of typeof batch === 'string' ? [batch] : batch) {
      if (text === '') continue;
      const link = parseLinkFast(text);
      const problem =
        chain && link?.organizationId === chain.state.organizationId
          ? countLink(chain.state, link.evidence)
          : await acceptText(text);
      if (problem) return verdict(problem);
    }
  if (!isEnded) return verdict(finding('EXPORT_TRUNCATED', openOrganization()));
  return verdict(hasExternalCheckpoint ? undefined : finding('EXTERNAL_CHECKPOINT_MISSING', {}));
}

/** The fields that the rules read; the others are optional in exports of earlier versions. */
const requiredFields: Readonly<Record<ExportLine['kind'], Readonly<Record<string, 'string' | 'number'>>>> = {
  export: { version: 'number' },
  key: { number: 'number', keyId: 'string', at: 'string', signed: 'string' },
  anchor: { organizationId: 'string', number: 'number', at: 'string', signed: 'string' },
  link: {
    organizationId: 'string',
    sequence: 'number',
    eventId: 'string',
    time: 'string',
    eventHash: 'string',
    hash: 'string',
    linkedOn: 'string',
  },
  checkpoint: {
    organizationId: 'string',
    number: 'number',
    size: 'number',
    head: 'string',
    at: 'string',
    signed: 'string',
  },
  end: {},
};

/** Fields beside the required ones. Signatures and hashes cover the values of all fields, so a line has no other. */
const optionalFields: Readonly<Partial<Record<ExportLine['kind'], readonly string[]>>> = {
  link: ['event'],
  checkpoint: ['previous', 'keyId', 'takenOn', 'inclusion'],
  end: ['chains', 'events', 'signed'],
};
const eventFields = ['canonical', 'appendedIn', 'seal'];
const inclusionFields = ['treeHead', 'treeSize', 'leafIndex', 'proof'];

/** A repeated or unknown field: another program may read a value here that was not verified. */
function fieldFinding(text: string, line: ExportLine, place: FindingPlace): Finding | undefined {
  const repeated = JSON.stringify(line) === text ? undefined : duplicateField(text);
  if (repeated !== undefined) return finding('EXPORT_FIELD_REPEATED', { field: repeated }, place);
  const known = ['kind', ...Object.keys(requiredFields[line.kind]), ...(optionalFields[line.kind] ?? [])];
  const inEvent = line.kind === 'link' && line.event ? Object.keys(line.event) : [];
  const inInclusion = line.kind === 'checkpoint' && line.inclusion ? Object.keys(line.inclusion) : [];
  const unknown =
    Object.keys(line).find((field) => !known.includes(field)) ??
    inEvent.find((field) => !eventFields.includes(field)) ??
    inInclusion.find((field) => !inclusionFields.includes(field));
  return unknown === undefined ? undefined : finding('EXPORT_FIELD_UNKNOWN', { field: unknown }, place);
}

function parse(text: string): ExportLine | undefined {
  if (text.length > maxLineLength) return undefined;
  try {
    const line = JSON.parse(text);
    if (!Object.hasOwn(requiredFields, line?.kind)) return undefined;
    const fields = Object.entries(requiredFields[line.kind as ExportLine['kind']]);
    const hasFields = fields.every(([name, type]) => typeof line[name] === type);
    const hasInclusion = line.inclusion === undefined || isInclusion(line.inclusion);
    const hasEvent = line.kind !== 'link' || line.event === null || typeof line.event?.canonical === 'string';
    return hasFields && hasEvent && hasInclusion ? line : undefined;
  } catch {
    return undefined;
  }
}

const isInclusion = (value: Partial<Inclusion> | null): boolean =>
  typeof value?.treeHead === 'number' &&
  typeof value.treeSize === 'number' &&
  typeof value.leafIndex === 'number' &&
  Array.isArray(value.proof) &&
  value.proof.every((node) => typeof node === 'string');
