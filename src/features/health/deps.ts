import type { Db } from '../../kernel/data/db.ts';
import type { Kv } from '../../kernel/ports/kv.ts';

export interface HealthDeps {
  readonly db: Pick<Db, 'ping'>;
  readonly kv: Pick<Kv, 'ping'>;
  /** Whether audit events are linked in time; from memory. */
  auditLinking(): { readonly status: 'ok' | 'delayed'; readonly oldestUnlinkedSeconds: number };
  readonly metricsToken: string | undefined;
  /** The exposition of this process, or of all serving processes together. */
  metricsText(): Promise<string>;
}
