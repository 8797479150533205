/**
 * Federation: other identity providers that the operator trusts, and whether a token is one of theirs. Owns
 * `federation_partners`, which belong to the whole instance. A partner's token opens nothing here by itself: who outside
 * may become which agent is said by the trust policies of the oidc feature.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { OutsideTokens } from '../../kernel/ports/external-tokens.ts';
import { federationRoutes } from './routes.ts';
import { createFederationService } from './service.ts';

export interface FederationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly outside: OutsideTokens;
  /** Who we are: our own tokens are no partner's. */
  readonly issuer: string;
  /** Whether plain http will do: inside the operator's own network. */
  readonly allowHttp: boolean;
}

export const createFederation = (deps: FederationDeps): { routes: readonly RouteEntry[] } => ({
  routes: federationRoutes(createFederationService(deps)),
});
