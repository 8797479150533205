/**
 * The archive: each day that is over, of each organization, as a compressed export in object storage. It owns `audit_archives`. Retention
 * drops a day only when it is there. docs/decisions/028-audit-archive.md.
 */
import { limits } from '../../../contract/limits.ts';
import type { Loop } from '../../../kernel/concurrency/loops.ts';
import type { Pace } from '../../../kernel/concurrency/pace.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { Compression } from '../../../kernel/ports/compression.ts';
import type { ObjectStorage } from '../../../kernel/ports/object-storage.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import { createAlarm } from './alarm.ts';
import { type ArchiveDayDeps, createArchiveDay } from './archive-day.ts';
import { createDroppable } from './droppable.ts';
import { createPendingDays } from './pending-days.ts';
import { createRounds, type Round } from './rounds.ts';
import { type ArchiveService, createArchiveService } from './service.ts';

export interface ArchiveOptions {
  readonly storage: ObjectStorage;
  readonly compression: Compression;
  readonly pace: Pace;
  /** Whether the days wait for witnesses. */
  readonly hasWitnesses: boolean;
  /** How long the storage may take for one step; a test shortens it. */
  readonly stallMs?: number | undefined;
}

interface ArchiveDeps extends Omit<ArchiveDayDeps, 'storage' | 'compression' | 'stallMs'> {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly chainHeads: Pick<ChainHeads, 'dropped'>;
  drain(): Promise<unknown>;
}

export interface Archive {
  readonly service: ArchiveService;
  /** Undefined when no archive is configured. */
  readonly archiving:
    | {
        readonly round: Round;
        /** How many milliseconds ago the oldest day ended that should be archived and is not; 0 when there is none. */
        oldestPendingMs(): Promise<number>;
      }
    | undefined;
  readonly loops: readonly Loop[];
  /** For retention. Undefined when no archive is configured. */
  readonly droppableThrough: ((day: string) => Promise<string | undefined>) | undefined;
}

export function createArchive(deps: ArchiveDeps, options: ArchiveOptions | undefined): Archive {
  const { db, logEvidence, metrics } = deps;
  const alarm = createAlarm(deps);
  const stallMs = options?.stallMs ?? limits.auditArchive.stallSeconds * 1_000;
  const service = createArchiveService({ db, storage: options?.storage, alarm, stallMs });
  if (!options) return { service, archiving: undefined, loops: [], droppableThrough: undefined };
  const evidence = options.hasWitnesses ? logEvidence : undefined;
  const pending = createPendingDays({ ...deps, evidence });
  const archiveDay = createArchiveDay({ ...deps, ...options, stallMs });
  const round = createRounds({ ...deps, ...options, pending, alarm, archiveDay });
  const droppable = createDroppable({ ...deps, pending });
  const measure = async () =>
    metrics.gauge('service_audit_archive_oldest_pending_seconds', (await pending.oldestMs()) / 1_000);
  return {
    service,
    archiving: { round, oldestPendingMs: pending.oldestMs },
    loops: [
      {
        name: 'audit-archive',
        everyMs: 60_000,
        // With a clock that is ahead, a day that is not over would be closed.
        purges: true,
        async run(signal) {
          await measure();
          await round({ signal });
          await measure();
        },
      },
    ],
    async droppableThrough(day) {
      const { through, reason } = await droppable(day);
      alarm.raiseKept(reason);
      return through;
    },
  };
}
