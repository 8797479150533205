/**
 * Audit: the log of what happened, one row per event, written in the transaction of the change itself, read by whoever
 * may read it, and proving itself: events are linked into chains of hashes whose heads are signed.
 * It owns `audit_events` with its day partitions, and the evidence: links, checkpoints, keys, anchors. What happened is
 * said by the other features through the ledger. docs/decisions/006-audit-chain.md says what is proven and what is not.
 */
import { type Clock, isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { LedgerListener } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadStatement, Signer } from '../../kernel/ports/signer.ts';
import { createAlarm } from './alarm.ts';
import { createBacklog, type Linking } from './backlog.ts';
import { sealTag } from './chain.ts';
import { findOrganizations } from './evidence-store.ts';
import { type ExportOptions, exportLog } from './export.ts';
import { createIntegrity, type Integrity } from './integrity.ts';
import { keptProblem } from './kept.ts';
import { createKeyring } from './keyring.ts';
import {
  createBacklogLoop,
  createPartitionLoop,
  createRetentionLoop,
  createSequencerLoop,
  createWatchLoop,
} from './loops.ts';
import { createPartitions } from './partitions.ts';
import { createPending } from './pending.ts';
import { createPositions } from './positions.ts';
import { createProof } from './proof.ts';
import { createAuditReader } from './read.ts';
import { createRetention } from './retention.ts';
import { auditRoutes } from './routes.ts';
import { createSequencer } from './sequencer.ts';
import { append } from './store.ts';
import { createVerifier, type Verifier } from './verify.ts';
import { createWatch } from './watch.ts';

export interface AuditDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
}

export interface Audit {
  readonly routes: readonly RouteEntry[];
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /**
   * Must have run before the first event is recorded: makes today's partition and some ahead, and says whose key signs. A
   * server's key takes over; what runs beside the servers leaves the log theirs, and asks for `otherKey` before it records.
   */
  prepare(options?: { takeOver: boolean }): Promise<void>;
  /** The key that signs the log, where that is another than ours: what we record would not be linked. */
  otherKey(): Promise<string | undefined>;
  /** Links what was appended until now. */
  settle(): Promise<void>;
  readonly verify: Verifier['verify'];
  readonly integrity: Integrity;
  /** Whether events are linked in time, as of the last round of the loop. */
  linking(): Linking;
  /** One round of that loop. */
  checkBacklog(): Promise<void>;
  /** Every organization in the log, when all that was recorded until now has been linked. */
  organizations(): Promise<string[]>;
  /** Why a checkpoint that was kept elsewhere is no part of the log; undefined when it is. */
  keptProblem(signed: string): Promise<string | undefined>;
  /** Writes the log with its evidence; answers how many events there were. */
  export(options: ExportOptions): Promise<number>;
  /** One round of the background check. */
  watch(): Promise<unknown>;
  /** Drops what is past retention. */
  retain(): Promise<void>;
}

export function createAudit(deps: AuditDeps): Audit {
  const { db, clock, signer, readStatement } = deps;
  const alarm = createAlarm(deps);
  const keyring = createKeyring({ ...deps, alarm });
  const positions = createPositions({ keyring, readStatement });
  const partitions = createPartitions(deps);
  const backlog = createBacklog(deps);
  const pending = createPending({ ...deps, alarm });
  const sequencer = createSequencer({ db, clock, signer, keyring, positions, alarm, partitions, pending });
  const { drain } = sequencer;
  const verifier = createVerifier({ db, clock, readStatement, keyring, positions, alarm, pending, drain });
  const retain = createRetention({ ...deps, keyring, positions, alarm, partitions });
  const watch = createWatch({ db, clock, readStatement, keyring, positions, alarm, drain });
  const tag = sealTag(signer.keyId);
  const seal = (canonical: string) => tag + signer.seal(canonical);
  const organizations = async () => {
    await drain();
    return [...new Set([...(await db.transaction(findOrganizations)), ...pending.organizations()])];
  };

  const checkBacklog = async () => {
    await backlog.measure();
    await pending.check();
  };

  return {
    routes: auditRoutes(createAuditReader(deps), createProof({ db, verifier, organizations })),
    listener: {
      async inTransaction(tx, happenings) {
        // All of one record have one time.
        await partitions.ensureFor(tx, happenings[0]?.timestamp ?? isoTime(clock));
        await append(tx, happenings, seal);
      },
      afterCommit: pending.appended,
    },
    loops: [
      createPartitionLoop(partitions),
      createSequencerLoop(sequencer, backlog),
      createBacklogLoop(checkBacklog),
      createRetentionLoop(retain),
      createWatchLoop(watch),
    ],
    async prepare({ takeOver } = { takeOver: true }) {
      await partitions.ensure();
      await keyring.introduce(takeOver);
    },
    otherKey: keyring.otherKey,
    verify: verifier.verify,
    integrity: createIntegrity({ db, clock, alarm, positions, verifier, watch }),
    linking: backlog.state,
    checkBacklog,
    organizations,
    keptProblem: (signed) => keptProblem({ db, readStatement, keyring, positions }, signed),
    async export(options) {
      await drain();
      return exportLog({ db, clock, signer }, options);
    },
    watch,
    retain,
    async settle() {
      await drain();
    },
  };
}
