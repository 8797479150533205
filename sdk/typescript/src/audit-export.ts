/** Verifies an export of the audit log with public keys alone, as `countersign audit verify` does. One line is in memory at a time. */
import type { JSONWebKeySet } from 'jose';
import {
  acceptCheckpoint,
  acceptLink,
  type Chain,
  endChain,
  startAtAnchor,
  startChain,
} from './audit/chain.ts';
import { leafHash, sha256 } from './audit/hashes.ts';
import { type EndLine, type ExportLine, type KeyLine, parseLine } from './audit/lines.ts';
import { type AuditProblem, isProblem, problem } from './audit/problems.ts';
import { createTrustedKeys, type ExportStatement, trustEarlierKeys } from './audit/statements.ts';
import { AuditExportError } from './errors.ts';

/** An entry of `GET /audit/checkpoints` that you have kept, as an object or as JSON. */
export type AuditCheckpoint =
  | string
  | { readonly signed: string; readonly inclusion?: { readonly checkpoint: string } | null };

export interface AuditExportOptions {
  /** `/.well-known/jwks.json` of the instance. Fetch it from the instance: keys from the file prove nothing. */
  readonly jwks: JSONWebKeySet;
}

/** An intact export. */
export interface AuditExport {
  /** When the export began. All events that were linked by then are in it. */
  readonly at: string;
  /** The only organization of the export; null when it has all. */
  readonly organizationId: string | null;
  readonly chains: number;
  /** Links, including those whose events retention has dropped. */
  readonly events: number;
}

const exportVersion = 1;
/** A key for each day of 27 years. */
const maxKeys = 10_000;

/**
 * Throws an AuditExportError with the first problem unless the export is intact and, if a checkpoint is given, contains it.
 * A checkpoint that you kept elsewhere proves that the end of the log was not removed before the export.
 */
export async function verifyAuditExport(
  lines: Iterable<string> | AsyncIterable<string>,
  checkpoint: AuditCheckpoint | null | undefined,
  options: AuditExportOptions,
): Promise<AuditExport> {
  if (typeof lines === 'string') throw new TypeError('lines must be a list or stream of lines, not one text');
  const jwks = options?.jwks;
  if (!Array.isArray(jwks?.keys)) throw new TypeError('jwks must be the key set of the instance');
  const wanted = checkpoint === null || checkpoint === undefined ? undefined : await hashOf(checkpoint);
  const verification = createVerification(jwks, wanted);
  let line = 0;
  const failAt = (found: AuditProblem | undefined, place?: number) => {
    if (found) throw new AuditExportError(found, { line: place, ...verification.counts() });
  };
  for await (const text of lines) {
    line += 1;
    if (text === '') continue;
    const parsed = parseLine(text);
    failAt(parsed.line ? await verification.accept(parsed.line) : problem(parsed.problem.code), line);
  }
  const result = verification.end();
  if (!isProblem(result)) return result;
  throw new AuditExportError(result, verification.counts());
}

function createVerification({ keys: roots }: JSONWebKeySet, wanted: string | undefined) {
  const keys = createTrustedKeys(roots);
  const keyLines: KeyLine[] = [];
  let isTrusted = false;
  let isBegun = false;
  let isEnded = false;
  let hasCheckpoint = wanted === undefined;
  let chain: Chain | undefined;
  let statement: ExportStatement | undefined;
  let chains = 0;
  let events = 0;
  /** The hash over all chains. Without it, a chain could be added or removed. */
  let contents = '';

  const closeChain = async (): Promise<AuditProblem | undefined> => {
    if (!chain) return undefined;
    const found = await endChain(keys.read, chain);
    if (found) return found;
    const { organizationId, droppedThrough, head } = chain;
    chains += 1;
    contents = await sha256(`${contents} ${organizationId} ${droppedThrough} ${head}`);
    chain = undefined;
    return undefined;
  };

  const acceptEnd = async (line: EndLine): Promise<AuditProblem | undefined> => {
    isEnded = true;
    if (line.signed === undefined)
      return line.events === events ? undefined : problem('EXPORT_UNSIGNED_COUNT');
    statement = await keys.read('audit-export+jwt', line.signed);
    if (!statement) return problem('EXPORT_NOT_SIGNED');
    if (statement.chains !== chains) return problem('EXPORT_CHAIN_COUNT');
    if (statement.events !== events) return problem('EXPORT_EVENT_COUNT');
    if (statement.contents !== contents) return problem('EXPORT_CHAINS_DIFFER');
    return line.chains === chains && line.events === events ? undefined : problem('EXPORT_NUMBERS_DIFFER');
  };

  /** The keys come before everything that they sign. */
  const trustKeys = async (): Promise<AuditProblem | undefined> => {
    if (isTrusted) return undefined;
    isTrusted = true;
    const untrusted = await trustEarlierKeys(keys, keyLines.splice(0));
    return untrusted && problem(untrusted.code);
  };

  const acceptBody = async (line: Exclude<ExportLine, KeyLine>): Promise<AuditProblem | undefined> => {
    const continues =
      (line.kind === 'link' || line.kind === 'checkpoint') && chain?.organizationId === line.organizationId;
    const found = continues ? undefined : await closeChain();
    if (found) return found;
    if (line.kind === 'end') return acceptEnd(line);
    if (line.kind === 'export') return problem('EXPORT_HEADER_INVALID');
    if (line.kind === 'anchor') {
      const started = await startAtAnchor(keys.read, line);
      if (isProblem(started)) return started;
      chain = started;
      hasCheckpoint ||= chain.checkpoint.hash === wanted;
      return undefined;
    }
    chain ??= await startChain(line.organizationId);
    if (line.kind === 'link') {
      events += 1;
      return acceptLink(chain, line);
    }
    const notNext = await acceptCheckpoint(keys.read, chain, line);
    hasCheckpoint ||= chain.checkpoint.hash === wanted;
    return notNext;
  };

  return {
    counts: () => ({ chains, events }),
    async accept(line: ExportLine): Promise<AuditProblem | undefined> {
      if (isEnded) return problem('EXPORT_CONTINUES');
      const isFirst = !isBegun;
      isBegun = true;
      if (isFirst !== (line.kind === 'export')) return problem('EXPORT_HEADER_INVALID');
      if (line.kind === 'export')
        return line.version === exportVersion ? undefined : problem('EXPORT_VERSION_UNKNOWN');
      if (line.kind !== 'key') return (await trustKeys()) ?? acceptBody(line);
      // After the first chain, a key would not count.
      if (isTrusted || keyLines.length === maxKeys)
        return problem('EXPORT_LINE_INVALID', { organizationId: chain?.organizationId });
      keyLines.push(line);
      return undefined;
    },
    end(): AuditExport | AuditProblem {
      if (!isEnded) return problem('EXPORT_TRUNCATED', { organizationId: chain?.organizationId });
      if (!hasCheckpoint) return problem('EXTERNAL_CHECKPOINT_MISSING');
      if (!statement) return problem('EXPORT_WITHOUT_STATEMENT');
      const { at, organizationId } = statement;
      return { at, organizationId, chains, events };
    },
  };
}

/** The hash by which the next checkpoint names this one. */
async function hashOf(checkpoint: AuditCheckpoint): Promise<string> {
  const { signed, inclusion } = typeof checkpoint === 'string' ? parseCheckpoint(checkpoint) : checkpoint;
  if (typeof signed !== 'string' || (inclusion && typeof inclusion.checkpoint !== 'string'))
    throw new TypeError('checkpoint must be one entry of GET /api/v1/audit/checkpoints');
  return inclusion ? leafHash(inclusion.checkpoint) : sha256(signed);
}

/** Checkpoints of earlier versions are the signed text alone. */
function parseCheckpoint(text: string): Exclude<AuditCheckpoint, string> {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return { signed: trimmed };
  try {
    return JSON.parse(trimmed);
  } catch {
    throw new TypeError('checkpoint is not JSON');
  }
}
