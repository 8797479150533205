/**
 * Federation: other identity providers that the operator trusts, and verification of their tokens. Owns `federation_partners`,
 * which belong to the whole instance. A partner's token gives no access here: only the trust policies of workload identity admit
 * external workloads as agents. For a partner with `idJag`, the delegation feature issues identity assertions.
 */

import type { ExternalTokens } from '../../kernel/ports/external-tokens.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { federationRoutes } from './routes.ts';
import { createFederationService } from './service.ts';

export { findPartnerByIssuer } from './store.ts';

export interface FederationDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly externalTokens: ExternalTokens;
  /** Our own issuer: it cannot be a partner. */
  readonly issuer: string;
  /** Whether partners may be reached by plain http: inside the operator's own network. */
  readonly allowHttp: boolean;
}

export const createFederation = (deps: FederationDeps) => ({
  routes: federationRoutes(createFederationService(deps)),
});
