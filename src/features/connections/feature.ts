/**
 * Connections: the OpenID providers whose people may sign in to an organization. Owns `connections`. The console feature signs people in
 * through them, and ends the sessions of a connection when it hears that it was disabled or deleted.
 */

import type { Actor } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { Vault } from '../../kernel/data/vault.ts';
import type { OpenIdProvider, ProviderSettings } from '../../kernel/ports/openid-provider.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { createConnectionProviders } from './providers.ts';
import { connectionRoutes } from './routes.ts';
import { createConnectionService } from './service.ts';

export interface ConnectionDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly vault: Vault;
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly organizationFor: OrganizationService['get'];
  /** Invitations by e-mail that wait for a sign-in through the connection. */
  deleteWaitingInvitations(
    tx: Tx,
    actor: Actor,
    connection: { connectionId: string; organizationId: string },
  ): Promise<void>;
  /** Contacts the provider at its first use. */
  openProvider(settings: ProviderSettings): OpenIdProvider;
}

export function createConnections(deps: ConnectionDeps) {
  const service = createConnectionService(deps);
  return { ...service, ...createConnectionProviders(deps), routes: connectionRoutes(service) };
}

export type Connections = ReturnType<typeof createConnections>;
