/**
 * Audit: the log of what happened, one row per event, written in the transaction of the change itself, read by whoever
 * may read it, and proving itself: events are linked into chains of hashes whose heads are signed.
 * It owns `audit_events` with its day partitions, and the evidence: links, checkpoints, keys, anchors. What happened is
 * said by the other features through the ledger. docs/decisions/006-audit-chain.md says what is proven and what is not.
 */
import { isoTime } from '../../kernel/clock.ts';
import { createAlarm } from './alarm.ts';
import { createBacklog } from './chain/backlog.ts';
import { createPositions } from './chain/chain-heads.ts';
import { sealTag } from './chain/hashes.ts';
import { createKeyring } from './chain/keys/keyring.ts';
import { createPending } from './chain/pending.ts';
import { createSequencer } from './chain/sequencer.ts';
import type { Audit, AuditDeps } from './deps.ts';
import { exportLog } from './export/export.ts';
import { createPartitions } from './log/partitions.ts';
import { createAuditReader } from './log/read.ts';
import { createRetention } from './log/retention.ts';
import { append } from './log/store.ts';
import {
  createBacklogLoop,
  createPartitionLoop,
  createRetentionLoop,
  createSequencerLoop,
  createWatchLoop,
} from './loops.ts';
import { auditRoutes } from './routes.ts';
import { findOrganizations } from './verify/evidence-store.ts';
import { keptProblem } from './verify/external-checkpoint.ts';
import { createIntegrity } from './verify/integrity.ts';
import { createProof } from './verify/service.ts';
import { createVerifier } from './verify/verifier.ts';
import { createWatch } from './verify/watch.ts';

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
