import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadStatement, Signer } from '../../kernel/ports/signer.ts';
import type { Linking } from './chain/backlog.ts';
import type { ExportOptions } from './export/export.ts';
import type { Integrity } from './verify/integrity.ts';
import type { Verifier } from './verify/verifier.ts';

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
