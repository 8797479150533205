import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { IdempotencyKeys } from '../../kernel/ports/idempotency.ts';

export interface IdempotencyDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly vault: Vault;
}

export interface Idempotency {
  readonly keys: IdempotencyKeys;
  /** Writes the key in the transaction of the change. */
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
}
