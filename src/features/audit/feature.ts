/**
 * Audit: the log of domain events. One row per event, written in the transaction of the change itself.
 * log/ appends and reads events and drops old days; chain/ links events into hash chains with signed heads; verify/ checks
 * the chains; proof/ gives clients what they need to check them alone; export/ writes them to a file, and archive/ writes the files of days that are over to object storage. It owns `audit_events` with its day partitions, and the evidence: segments, tree
 * heads, keys, anchors. The other features report events through the ledger.
 * docs/decisions/006-audit-chain.md says which tampering is detected.
 */

import type { ExportLine } from '../../../sdk/typescript/src/audit/export-lines.ts';
import type { KeyRow } from '../../../sdk/typescript/src/audit/trusted-keys.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { ReadStatement, Signer } from '../../kernel/ports/signer.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { Continuation, LogEvidence } from '../instance-log/feature.ts';
import { type Archive, type ArchiveOptions, createArchive } from './archive/archive.ts';
import { createBacklog, type LinkingState } from './chain/backlog.ts';
import { createChainHeads } from './chain/chain-heads.ts';
import { takeSnapshot } from './chain/evidence-store.ts';
import { sealTag } from './chain/hashes.ts';
import { createKeyring } from './chain/keys/keyring.ts';
import { findFirstUse, readKeys } from './chain/keys/keys-store.ts';
import { createTreeLeaves } from './chain/leaves/tree-leaves.ts';
import { createSequencer } from './chain/sequencer.ts';
import type { TreeHeadRow } from './chain/statements.ts';
import { createTreeHeads } from './chain/tree-heads.ts';
import { findNewestTreeHead } from './chain/tree-heads-store.ts';
import { createUnlinkedEvents } from './chain/unlinked-events.ts';
import { dayParts, type ExportDay, type ExportOptions, type ExportPart, exportLog } from './export/export.ts';
import { createExportService } from './export/service.ts';
import type { Finding } from './findings.ts';
import { createIntegrityStatus, type IntegrityStatus } from './integrity-status.ts';
import { type AuditFeed, createFeed } from './log/feed.ts';
import { createPartitions } from './log/partitions.ts';
import { createAuditReader } from './log/read.ts';
import { createRetention } from './log/retention.ts';
import { append } from './log/store.ts';
import { createLogContinuation } from './log-continuation.ts';
import {
  createBacklogLoop,
  createPartitionLoop,
  createRetentionLoop,
  createSequencerLoop,
  createWatchLoop,
} from './loops.ts';
import { createProofService } from './proof/service.ts';
import { auditRoutes } from './routes.ts';
import { findOrganizations } from './verify/completeness-store.ts';
import { checkExternalCheckpoint, type ExternalCheckpoint } from './verify/external-checkpoint.ts';
import { createIntegrity, type Integrity } from './verify/integrity.ts';
import { createVerificationService } from './verify/service.ts';
import { verifyAllTreeHeads } from './verify/tree-head-scan.ts';
import { createVerifier, type Verifier } from './verify/verifier.ts';
import { createWatch } from './verify/watch.ts';

interface AuditDeps extends Pick<SharedDeps, 'db' | 'clock' | 'log' | 'metrics'> {
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  /** Of the instance log; without it, exports and answers prove nothing against that log. */
  readonly logEvidence?: LogEvidence | undefined;
  /** Whether the witnesses of the instance log know more than this database. Without witnesses, nothing is asked. */
  readonly continuation?: Continuation | undefined;
  /** Days that are over are archived there, and dropped only then. */
  readonly archive?: ArchiveOptions | undefined;
}

export interface Audit {
  readonly routes: readonly RouteEntry[];
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /**
   * Call it before the first event is recorded: it creates partitions and adds the signing key. The key of a server takes
   * over. Other commands do not take over, and check `otherKey` before they record.
   */
  prepare(options?: { takeOver: boolean }): Promise<void>;
  /** The key that signs the log, when ours may not: events that we record would not be linked. */
  otherKey(): Promise<string | undefined>;
  /** Links all events that were recorded so far. */
  linkAll(): Promise<void>;
  readonly verify: Verifier['verify'];
  /** Verifies the tree heads of all organizations; undefined when there is no finding. */
  verifyTreeHeads(): Promise<Finding | undefined>;
  readonly integrity: Integrity;
  /** Whether the chain of an organization is intact, as far as this process knows; no I/O. */
  readonly statusOf: IntegrityStatus['statusOf'];
  /** The keys that have signed the log, newest first, and its newest tree head. */
  signatures(): Promise<{ readonly keys: readonly KeyRow[]; readonly treeHead: TreeHeadRow | undefined }>;
  /** Whether events are linked in time, as of the last round of the backlog loop. */
  linking(): LinkingState;
  /** One round of the backlog loop. */
  checkBacklog(): Promise<void>;
  /** Links all events, then lists every organization in the log. */
  organizations(): Promise<string[]>;
  /** Why an external checkpoint is not part of the log; undefined when it is. */
  checkExternalCheckpoint(external: ExternalCheckpoint): Promise<Finding | undefined>;
  /** Writes the log with its evidence, and returns the number of events. */
  export(options: ExportOptions): Promise<number>;
  /** Undefined when no archive is configured. */
  readonly archiving: Archive['archiving'];
  /** The export of one organization's day that is over. All its events must be linked: see `linkAll`. */
  exportDay(day: ExportDay): AsyncGenerator<ExportLine>;
  readonly feed: AuditFeed;
  /** One round of the background check. */
  watch(): Promise<unknown>;
  /** Drops the days past retention. */
  retain(): Promise<void>;
}

/** In the order of their numbers, which have no gaps. */
export { readTreeHeads } from './chain/tree-heads-store.ts';

export function createAudit(deps: AuditDeps): Audit {
  const { db, clock, log, metrics, signer, readStatement, logEvidence } = deps;
  metrics.gaugeFromQuery('service_signing_key_since_timestamp_seconds', () => findFirstUse(db, signer.keyId));
  const integrity = createIntegrityStatus(deps);
  const keyring = createKeyring({ ...deps, integrity });
  const chainHeads = createChainHeads({ keyring, readStatement });
  const partitions = createPartitions(deps);
  const backlog = createBacklog(deps);
  const unlinked = createUnlinkedEvents({ ...deps, integrity, chainHeads });
  const treeHeads = createTreeHeads({ signer, keyring, readStatement, chainHeads });
  const treeLeaves = createTreeLeaves({ chainHeads, treeHeads });
  const logContinuation = createLogContinuation(deps.continuation);
  const sequencer = createSequencer({
    db,
    clock,
    log,
    keyring,
    chainHeads,
    treeHeads,
    treeLeaves,
    integrity,
    ensurePartition: partitions.ensureFor,
    unlinked,
    logContinuation,
  });
  const { drain } = sequencer;
  const verifier = createVerifier({
    ...deps,
    keyring,
    chainHeads,
    treeLeaves,
    integrity,
    unlinked,
    logContinuation,
    drain,
  });
  const archive = createArchive({ ...deps, keyring, chainHeads, drain }, deps.archive);
  const { droppableThrough } = archive;
  const retain = createRetention({
    ...{ ...deps, keyring, chainHeads, integrity, partitions },
    ...(droppableThrough && { droppableThrough }),
  });
  const watch = createWatch({
    ...deps,
    keyring,
    chainHeads,
    treeHeads,
    treeLeaves,
    integrity,
    logContinuation,
    drain,
  });
  const tag = sealTag(signer.keyId);
  const sealOf = (canonical: string) => tag + signer.seal(canonical);
  const organizations = async () => {
    await drain();
    return [...new Set([...(await db.transaction(findOrganizations)), ...unlinked.organizations()])];
  };

  const verifyTreeHeads = async () => {
    const problem = await db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const { keys, finding: untrusted } = await keyring.trust(tx);
      const problem = untrusted ?? (await logContinuation.finding(tx));
      return problem ?? verifyAllTreeHeads(tx, { read: readStatement, keys, treeLeaves });
    });
    if (problem) integrity.raise(problem);
    return problem;
  };

  const checkBacklog = async () => {
    await backlog.measure();
    await unlinked.check();
  };

  return {
    routes: auditRoutes({
      reader: createAuditReader({ db, clock, hasArchive: deps.archive !== undefined }),
      verification: createVerificationService({
        db,
        verifier,
        organizations,
        verifyTreeHeads,
        witnessed: async () => (await deps.logEvidence?.witnessed()) ?? null,
      }),
      proof: createProofService({ db, drain }),
      exports: createExportService({ db, clock, signer, logEvidence, drain }),
      archives: archive.service,
    }),
    listener: {
      types: 'all',
      async inTransaction(tx, events) {
        // All events of one record have the same time.
        const timestamp = events[0]?.timestamp ?? isoTime(clock);
        await partitions.ensureFor(tx, timestamp);
        append(tx, events, sealOf);
      },
      afterCommit: unlinked.appended,
    },
    loops: [
      createPartitionLoop(partitions),
      createSequencerLoop(sequencer, backlog),
      createBacklogLoop(checkBacklog),
      ...archive.loops,
      createRetentionLoop(retain),
      createWatchLoop(watch),
    ],
    async prepare({ takeOver } = { takeOver: true }) {
      await partitions.ensure();
      await keyring.introduce(takeOver);
    },
    otherKey: keyring.otherKey,
    verify: verifier.verify,
    verifyTreeHeads,
    integrity: createIntegrity({ db, clock, integrity, chainHeads, verifier, watch }),
    statusOf: integrity.statusOf,
    async signatures() {
      return { keys: await readKeys(db), treeHead: await findNewestTreeHead(db) };
    },
    linking: backlog.state,
    checkBacklog,
    organizations,
    checkExternalCheckpoint: (external) =>
      checkExternalCheckpoint({ db, readStatement, keyring, chainHeads }, external),
    async export(options) {
      await drain();
      return exportLog({ db, clock, signer, logEvidence }, options);
    },
    archiving: archive.archiving,
    exportDay: (day) => linesOf(dayParts({ db, clock, signer, logEvidence }, day)),
    feed: createFeed({ db, clock, sequencer }),
    watch,
    retain,
    async linkAll() {
      await drain();
    },
  };
}

async function* linesOf(parts: AsyncIterable<ExportPart>): AsyncGenerator<ExportLine> {
  for await (const { texts } of parts) for (const text of texts) yield JSON.parse(text);
}
