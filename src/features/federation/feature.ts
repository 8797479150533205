/**
 * Federation: other identity providers that the operator trusts, and verification of their tokens. Owns `federation_partners`,
 * which belong to the whole instance. A partner's token gives no access here: only the trust policies of workload identity admit
 * external workloads as agents.
 */

import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import { federationRoutes } from './routes.ts';
import { createFederationService } from './service.ts';

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

export const createFederation = (deps: FederationDeps) => ({
  routes: federationRoutes(createFederationService(deps)),
});
