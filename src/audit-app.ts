/** The composition of `countersign audit`: the audit log alone, without the other features. */
import type { KeyObject } from 'node:crypto';
import type { WitnessPolicy } from '../sdk/typescript/src/transparency/witness-policy.ts';
import { createSigner, createStatementReader } from './adapters/keys/keys.ts';
import type { PostgresOptions } from './adapters/postgres/postgres.ts';
import type { LogCheck } from './features/instance-log/verify-log.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import type { ArchiveSettings } from './kernel/config/archive.ts';
import type { KeyPair } from './kernel/config/keypair.ts';
import { createClockSkewGuard } from './kernel/data/clock-skew-guard.ts';
import type { Log } from './kernel/observability/log.ts';
import { createMetrics } from './kernel/observability/metrics.ts';

export { splitLines } from '../sdk/typescript/src/audit/read-lines.ts';
export { verifyExport } from '../sdk/typescript/src/audit/verify-export.ts';
export { digestOf } from './features/audit/archive/inspect-file.ts';
export { type ArchiveDay, fileName, isDay } from './features/audit/archive/names.ts';
export {
  type ArchivedNames,
  type ArchiveFilter,
  archivedNames,
  readManifestOf,
  type VerifiedDay,
  verifyArchive,
} from './features/audit/archive/verify-archive.ts';
export type { ExportPart } from './features/audit/export/export.ts';
export { type Finding, finding } from './features/audit/findings.ts';
export {
  type ExternalCheckpoint,
  readExternalCheckpoint,
} from './features/audit/verify/external-checkpoint.ts';

export async function openAudit(options: {
  database: Pick<PostgresOptions, 'url' | 'variable' | 'pooler'>;
  signingKeys: KeyPair;
  previousPublicKeys: readonly KeyObject[];
  issuer: string;
  /** Those of AUDIT_WITNESSES: exports prove against a checkpoint that they have cosigned. */
  witnesses: WitnessPolicy | undefined;
  /** Where the days are archived; undefined for a command that archives nothing. */
  archive?: ArchiveSettings | undefined;
  log: Log;
  clock?: Clock;
}) {
  // The verification of an export uses neither of them, and starts in half the time without.
  const { createPostgres } = await import('./adapters/postgres/postgres.ts');
  const { createAudit, readTreeHeads } = await import('./features/audit/feature.ts');
  const { listOrganizationNames } = await import('./features/organizations/store.ts');
  const { checkpointPolicyOf, createLogEvidence, verifyInstanceLog } = await import(
    './features/instance-log/feature.ts'
  );
  const { database, signingKeys, witnesses, log, clock = systemClock } = options;
  const metrics = createMetrics();
  const db = createPostgres({ ...database, poolSize: 2, log, metrics, noStatementTimeout: true });
  const signer = await createSigner({ ...options, ...signingKeys, clock });
  const storage = options.archive && (await openArchive(options.archive));
  const audit = createAudit({
    ...{ db, clock, log, metrics, signer },
    readStatement: createStatementReader(),
    logEvidence: createLogEvidence({ db, policy: witnesses && checkpointPolicyOf(witnesses) }),
    archive: storage && {
      ...storage,
      hasWitnesses: witnesses !== undefined,
      // The process serves no requests.
      pace: (portion) => portion(),
    },
  });
  const verifyLog = (check: LogCheck) =>
    verifyInstanceLog(
      { db, evidence: createLogEvidence({ db, policy: check.policy }), readTreeHeads },
      check,
    );
  return {
    audit,
    organizationNames: () => listOrganizationNames(db),
    verifyLog,
    /** False while the clock of this machine is ahead of the database's. */
    isClockRight: createClockSkewGuard({ db, clock, log }),
    async close() {
      await storage?.storage.close();
      await db.close();
    },
  };
}

/** The archive without the database. */
export async function openArchive(settings: ArchiveSettings) {
  const { openObjectStorage } = await import('./adapters/object-storage/open.ts');
  const { zstd } = await import('./adapters/zstd.ts');
  return { storage: await openObjectStorage(settings), compression: zstd };
}
