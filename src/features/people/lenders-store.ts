/** People as the subjects of delegations. Reads their agents too. */
import type { Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';

export interface Lender {
  readonly personId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended';
  /**
   * The scopes of our own API that the person may lend: those of a session of the console, which has the scopes of the person's agent, a
   * viewer's only the reading ones. None for a member.
   */
  readonly ownScopes: readonly string[];
}

/** By id; people who do not exist are left out. */
export async function findLenders(
  db: Queryable,
  personIds: readonly string[],
): Promise<ReadonlyMap<string, Lender>> {
  if (personIds.length === 0) return new Map();
  const rows = await db.many<Lender>(
    'people.findLenders',
    prepared(sql`
      select p.person_id as "personId", p.organization_id as "organizationId", p.status,
        array(select scope from unnest(a.allowed_scopes) as scope
              where a.status = 'active' and (p.role = 'admin' or scope like '%:read')) as "ownScopes"
      from people p left join agents a using (agent_id)
      where p.person_id = any(${personIds}::uuid[])`),
  );
  return new Map(rows.map((row) => [row.personId, row]));
}
