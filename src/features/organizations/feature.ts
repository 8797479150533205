/**
 * Organizations: the tenants. Owns the `organizations` table. So far it only creates the first one, for bootstrap,
 * and tells other features whether one exists; its HTTP routes come with the registry.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import { createOrganizationService, type OrganizationService } from './service.ts';

export interface OrganizationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
}

export type Organizations = OrganizationService;

export const createOrganizations = (deps: OrganizationDeps): Organizations => createOrganizationService(deps);
