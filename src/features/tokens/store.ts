/** Reads across agents, organizations and credentials; writes nothing. */
import type { Queryable } from '../../kernel/db.ts';
import { sql } from '../../kernel/sql.ts';

export interface Standing {
  readonly agentId: string;
  readonly organizationId: string;
  readonly agentStatus: 'active' | 'suspended' | 'decommissioned';
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
}

export interface Client extends Standing {
  readonly allowedScopes: readonly string[];
  /** Of the credentials that are active and not expired. */
  readonly secretHashes: readonly Buffer[];
}

export const findClient = (db: Queryable, agentId: string, now: Date): Promise<Client | undefined> =>
  db.maybe(
    'tokens.findClient',
    sql`select a.agent_id as "agentId", a.organization_id as "organizationId", a.status as "agentStatus",
               o.status as "organizationStatus", a.allowed_scopes as "allowedScopes",
               array(
                 select c.secret_hash from credentials c
                 where c.agent_id = a.agent_id and c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})
               ) as "secretHashes"
        from agents a join organizations o using (organization_id)
        where a.agent_id = ${agentId}`,
  );

export const findStanding = (db: Queryable, agentId: string): Promise<Standing | undefined> =>
  db.maybe(
    'tokens.findStanding',
    sql`select a.agent_id as "agentId", a.organization_id as "organizationId", a.status as "agentStatus",
               o.status as "organizationStatus"
        from agents a join organizations o using (organization_id)
        where a.agent_id = ${agentId}`,
  );
