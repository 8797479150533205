import type { KeyRow } from '../../../sdk/typescript/src/audit/trusted-keys.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadStatement, Signer } from '../../kernel/ports/signer.ts';
import type { LinkingState } from './chain/backlog.ts';
import type { TreeHeadRow } from './chain/statements.ts';
import type { ExportOptions } from './export/export.ts';
import type { Finding } from './findings.ts';
import type { IntegrityStatus } from './integrity-status.ts';
import type { AuditEvent } from './schema.ts';
import type { ExternalCheckpoint } from './verify/external-checkpoint.ts';
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

/** A place in the chain of an organization: after the link with this number. The day of that link makes reading cheaper. */
export interface FeedPosition {
  readonly sequence: number;
  readonly day?: string | undefined;
}

export interface FeedEntry extends FeedPosition {
  readonly organizationId: string;
  /** Undefined when the event is past retention. */
  readonly event: AuditEvent | undefined;
}

export interface AuditFeed {
  /** The end of the organization's chain, after the events that were recorded so far are linked. */
  end(organizationId: string): Promise<FeedPosition>;
  /** The entries after each position, at most `limit` for each organization, in the order of their links. */
  read(
    positions: readonly (FeedPosition & { readonly organizationId: string })[],
    limit: number,
  ): Promise<FeedEntry[]>;
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
  readonly feed: AuditFeed;
  /** One round of the background check. */
  watch(): Promise<unknown>;
  /** Drops the days past retention. */
  retain(): Promise<void>;
}
