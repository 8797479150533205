import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { OrganizationService } from './service.ts';

export interface OrganizationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly requirePermission: RequirePermission;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<{ agentId: string }>;
}

export interface Organizations extends OrganizationService {
  readonly routes: readonly RouteEntry[];
}
