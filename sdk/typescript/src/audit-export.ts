/** Verifies an export of the audit log with public keys alone, as `countersign audit verify` does. */
import type { JSONWebKeySet } from 'jose';
import { finding } from './audit/findings.ts';
import { createStatementReader } from './audit/statement-reader.ts';
import type { CheckpointEntry, PublicKey } from './audit/statements.ts';
import { verifyExport, type WitnessedExport } from './audit/verify-export.ts';
import { AuditExportError } from './errors.ts';
import { TransparencyError } from './transparency/errors.ts';
import { type LogTrust, readLogTrust } from './transparency/log-trust.ts';

/** An entry of `GET /audit/checkpoints` that you have kept, as an object or as JSON. */
export type AuditCheckpoint =
  | string
  | { readonly signed: string; readonly inclusion?: { readonly checkpoint: string } | null };

export interface AuditExportOptions {
  /** `/.well-known/jwks.json` of the instance. Fetch it from the instance: keys from the file prove nothing. */
  readonly jwks: JSONWebKeySet;
  /**
   * The instance log, and witnesses that you trust. With it, each organization of the export must be in a checkpoint of the log that
   * enough of the witnesses have cosigned. Take the keys from their owners, not from the file.
   */
  readonly log?: LogTrust | undefined;
}

/** An intact export. */
export interface AuditExport {
  /** When the export began. All events that were linked by then are in it. */
  readonly at: string;
  /** The only organization of the export; null when it has all. */
  readonly organizationId: string | null;
  /** The only day of the export (`YYYY-MM-DD`, UTC); null when it has all days. */
  readonly day: string | null;
  readonly chains: number;
  /** Links, including those whose events retention has dropped. */
  readonly events: number;
  /** The checkpoint that the witnesses of `log` have cosigned; null without `log` and without witnesses. */
  readonly witnessed: WitnessedExport | null;
}

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
  const externalCheckpoint =
    checkpoint === null || checkpoint === undefined ? undefined : entryOf(checkpoint);
  const verdict = await verifyExport(lines, {
    roots: jwks.keys as unknown as readonly PublicKey[],
    read: createStatementReader(),
    externalCheckpoint,
    log: options.log && policyOf(options.log),
  });
  const { statement, chains, events, witnessed } = verdict;
  if (verdict.finding) throw new AuditExportError(verdict.finding, verdict);
  if (!statement)
    throw new AuditExportError(
      finding('EXPORT_WITHOUT_STATEMENT', { events, chains: `${chains} chains` }),
      verdict,
    );
  const { at, organizationId, day = null } = statement;
  return { at, organizationId, day, chains, events, witnessed };
}

function policyOf(log: LogTrust) {
  try {
    return readLogTrust(log);
  } catch (error) {
    if (error instanceof TransparencyError) throw new TypeError(`log: ${error.message}`);
    throw error;
  }
}

function entryOf(checkpoint: AuditCheckpoint): CheckpointEntry {
  const entry = typeof checkpoint === 'string' ? parseCheckpoint(checkpoint) : checkpoint;
  const { signed, inclusion } = entry;
  if (typeof signed !== 'string' || (inclusion && typeof inclusion.checkpoint !== 'string'))
    throw new TypeError('checkpoint must be one entry of GET /api/v1/audit/checkpoints');
  return entry;
}

/** Checkpoints of earlier versions are the signed text alone. */
function parseCheckpoint(text: string): CheckpointEntry {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return { signed: trimmed };
  try {
    return JSON.parse(trimmed);
  } catch {
    throw new TypeError('checkpoint is not JSON');
  }
}
