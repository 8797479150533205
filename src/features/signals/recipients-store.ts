/**
 * The other organizations that learn of an end: the owners of resources for which tokens of the ended part are or were. A read model over
 * the tables of resources, delegations and the audit log.
 */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { Ended } from './signal-of-event.ts';

/** Beyond as many tokens of the organization, those who could hold one count as holders: an end must not wait for a long scan. */
const maxTokensRead = 20_000;

/** Could the part `e` have got a token for the resource `e.identifier`? With audiences, it had a grant or a chain for them until now. */
const mayHold = (since: string) => sql`
  case when e.audiences is not null then true
  else case e.kind
    when 'agent' then exists (select from resource_grants g where g.resource_id = e.resource_id and g.agent_id = e.id)
      or exists (select from chains c where c.at = e.at and e.identifier = any (c.resource))
    when 'person' then exists (select from delegations d
      where d.subject_id = e.id and d.expires_at > ${since} and e.identifier = any (d.resource))
    when 'credential' then exists (select from resource_grants g join credentials c using (agent_id)
      where g.resource_id = e.resource_id and c.credential_id = e.id)
    else true
  end end`;

/**
 * For each of these parts of the organization, in their order: the owners of shared resources for which it has got tokens since then. A
 * share that ended before has ended its tokens, with signals of their own; one that ends with a grant or a chain still counts. That a token
 * ended shows that there was one. One query for all parts; nothing of the log is read for an organization without shares of others.
 */
export async function findRecipients(
  tx: Queryable,
  organizationId: string,
  parts: readonly Ended[],
  since: string,
): Promise<readonly (readonly string[])[]> {
  const wanted = parts.flatMap((part, at) => (hasOthers(part) ? [{ at, ...part }] : []));
  if (wanted.length === 0) return parts.map(() => []);
  const rows = await tx.many<{ at: number; ownerIds: string[] }>(
    'signals.findRecipients',
    sql`with part as materialized (
          select * from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as p (at int, kind text, id uuid, audiences text[])
        ), e as materialized (
          select p.*, r.resource_id, r.identifier, r.organization_id
          from part p cross join lateral unnest(p.audiences) as named (identifier) join resources r using (identifier)
          where r.organization_id <> ${organizationId}
          union all
          select p.*, r.resource_id, r.identifier, r.organization_id
          from part p cross join resource_shares s join resources r using (resource_id)
          where p.audiences is null and s.organization_id = ${organizationId}
            and r.organization_id <> ${organizationId} and r.deleted_at is null
        ), chains as materialized (
          -- Chains of the agent or the chain itself, and those below; also those that end with it.
          select p.at, below.chain_id, below.resource
          from part p
            join delegations own on (p.kind = 'agent' and (own.delegator_id = p.id or own.delegatee_id = p.id))
              or (p.kind = 'chain' and own.chain_id = p.id)
            join delegations below on below.root_chain_id = own.root_chain_id and own.chain_id = any (below.path)
          where p.at in (select at from e) and below.expires_at > ${since}
        ), key as materialized (
          select at, id::text as value from part union select at, chain_id::text from chains
        ), t as materialized (
          select agent_id, metadata from audit_events
          where organization_id = ${organizationId} and occurred_at > ${since} and action = 'token.issued'
            and exists (select from e where kind <> 'token')
          order by occurred_at desc limit ${maxTokensRead + 1}
        ), held as materialized (
          select key.at, t.metadata ->> 'audience' as identifier
          from t cross join lateral (values (t.agent_id::text), (t.metadata ->> 'subjectId'),
              (t.metadata ->> 'chainId'), (t.metadata ->> 'credentialId')) as belongs (value)
            join key using (value)
          union
          select p.at, t.metadata ->> 'audience' from part p cross join t where p.kind = 'organization'
        )
        select e.at, array_agg(distinct e.organization_id) as "ownerIds" from e
        where e.kind = 'token' or (e.at, e.identifier) in (select at, identifier from held)
          or ((select count(*) from t) > ${maxTokensRead} and ${mayHold(since)})
        group by e.at`,
  );
  const owners = new Map(rows.map(({ at, ownerIds }) => [at, ownerIds]));
  return parts.map((_, at) => owners.get(at) ?? []);
}

const hasOthers = (part: Ended): boolean =>
  part.kind !== 'own' && !('audiences' in part && part.audiences.length === 0);
