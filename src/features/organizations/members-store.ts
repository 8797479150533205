import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { MemberQuery, Membership } from './schema.ts';

const columns = sql`
  member_id as "memberId", organization_id as "organizationId", agent_id as "agentId", role, joined_at as "joinedAt"`;

/** False when the agent is a member already. */
export async function insertMembership(db: Queryable, membership: Membership): Promise<boolean> {
  const { memberId, organizationId, agentId, role, joinedAt } = membership;
  const inserted = await db.run(
    'memberships.insert',
    sql`insert into memberships (member_id, organization_id, agent_id, role, joined_at)
        values (${memberId}, ${organizationId}, ${agentId}, ${role}, ${joinedAt})
        on conflict (organization_id, agent_id) do nothing`,
  );
  return inserted === 1;
}

export async function findRole(
  db: Queryable,
  organizationId: string,
  agentId: string,
): Promise<Membership['role'] | undefined> {
  const row = await db.maybe<Pick<Membership, 'role'>>(
    'memberships.role',
    sql`select role from memberships where organization_id = ${organizationId} and agent_id = ${agentId}`,
  );
  return row?.role;
}

/** An agent by its membership, or a person by the invitation. */
export type Admin = { readonly agentId: string } | { readonly personId: string };

/** Whether there is another active agent with the role, or another active person with it whose agent is active. */
export async function hasOtherAdmin(db: Queryable, organizationId: string, admin: Admin): Promise<boolean> {
  const { agentId = null, personId = null } = admin as { agentId?: string; personId?: string };
  const { found } = await db.one<{ found: boolean }>(
    'memberships.hasOtherAdmin',
    sql`select exists (
            select from memberships m join agents a using (organization_id, agent_id)
            where m.organization_id = ${organizationId} and m.role = 'admin' and a.status = 'active'
              and m.agent_id is distinct from ${agentId}::uuid)
          or exists (
            select from people p join agents a using (organization_id, agent_id)
            where p.organization_id = ${organizationId} and p.role = 'admin' and a.status = 'active'
              and p.status = 'active' and p.issuer is not null and p.person_id is distinct from ${personId}::uuid) as found`,
  );
  return found;
}

export const findMembership = (
  db: Queryable,
  organizationId: string,
  agentId: string,
): Promise<Membership | undefined> =>
  db.maybe(
    'memberships.find',
    sql`select ${columns} from memberships where organization_id = ${organizationId} and agent_id = ${agentId}`,
  );

export async function listMemberships(db: Queryable, organizationId: string, query: MemberQuery) {
  const { role } = query;
  const matches =
    role === undefined
      ? sql`organization_id = ${organizationId}`
      : sql`organization_id = ${organizationId} and role = ${role}`;
  const rows = await db.many<Membership>(
    'memberships.list',
    sql`select ${columns} from memberships where ${matches}
        order by joined_at desc, member_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'memberships.count',
    sql`select count(*) as total from memberships where ${matches}`,
  );
  return { rows, total };
}

export async function updateRole(db: Queryable, { memberId, role }: Membership): Promise<void> {
  await db.run(
    'memberships.update',
    sql`update memberships set role = ${role} where member_id = ${memberId}`,
  );
}

export async function deleteMembership(db: Queryable, { memberId }: Membership): Promise<void> {
  await db.run('memberships.delete', sql`delete from memberships where member_id = ${memberId}`);
}
