import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';

export interface FederationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly externalTokens: ExternalTokens;
  /** Our own issuer: it cannot be a partner. */
  readonly issuer: string;
  /** Whether partners may be reached by plain http: inside the operator's own network. */
  readonly allowHttp: boolean;
}
