/** Resources as the audiences of tokens, for the tokens feature. */
import type { Queryable } from '../../kernel/data/db.ts';
import { empty, listOf, prepared, type Sql, sql } from '../../kernel/data/sql.ts';
import type { AgentClaim, HeldScopes, RegisteredResource, ScopeEpochs } from './audience-scopes.ts';
import { lentByPerson, shareWithPerson } from './lending-store.ts';
import { isPending, localName, resourceOf, shownIdentifier } from './names-store.ts';

/** A registered resource as the audience of a token. */
export interface ResourceTarget
  extends Pick<
    RegisteredResource,
    'identifier' | 'organizationId' | 'deleted' | 'ownerActive' | 'tokenLifetimeSeconds' | 'claims'
  > {
  /** The scopes that the owner of the token holds; empty without a grant. */
  readonly held: HeldScopes;
  readonly epochs: ScopeEpochs;
  /** The fields of the client that can become claims. */
  readonly client: Readonly<Record<AgentClaim, unknown>>;
  /** The subject of the token, if it is a person. */
  readonly person?: PersonFields;
}

interface PersonFields {
  readonly name: string;
  readonly email: string | null;
  readonly issuer: string | null;
  readonly subject: string | null;
}

/** Of the client `a` and the resource `r`, with the scopes that the token's owner holds. */
const targetWith = (held: Sql, epochs: Sql, more: Sql) => sql`
  case when r.resource_id is not null then jsonb_build_object(
    'identifier', ${shownIdentifier}, 'organizationId', r.organization_id, 'deleted', r.deleted_at is not null,
    'ownerActive', (select status = 'active' from organizations where organization_id = r.organization_id),
    'tokenLifetimeSeconds', r.token_lifetime_seconds, 'claims', r.claims, 'held', ${held},
    'epochs', ${epochs},
    'client', jsonb_build_object('agentType', a.agent_type, 'capabilities', a.capabilities, 'owner', a.owner,
      'deploymentEnv', a.deployment_env, 'version', a.version)
    ${more}) end as target`;

/** The owner is an agent, with the grant `g`. */
const targetColumn = targetWith(sql`coalesce(g.scopes, '{}')`, sql`coalesce(g.epochs, '{}')`, empty);

/** The owner is the person `p`. */
const personTargetColumn = targetWith(
  lentByPerson,
  sql`'{}'::jsonb`,
  sql`, 'person', jsonb_build_object('name', p.name, 'email', p.email, 'issuer', p.issuer, 'subject', p.subject)`,
);

/** No identifier of a resource. */
const ownApi = '-';

/** For a query of the tokens feature, which reads all of a client at once. */
export interface JoinedTargets {
  readonly column: Sql;
  readonly join: Sql;
}

/** Joins the resource and the own grant of the agent `a` for it, by the position of the client in `presented`. */
export const joinTargets = (audiences: readonly (string | undefined)[]): JoinedTargets => ({
  column: targetColumn,
  join: sql`
  join unnest(${listOf(audiences.map((audience) => audience ?? ownApi))}) with ordinality as named (audience, position)
    on named.position = presented.position
  left join ${resourceOf(sql`named.audience`, sql`a.organization_id`)}
  left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = a.agent_id`,
});

interface TargetQuery {
  /** The agent whose grant counts: the client, or the subject of a delegation. */
  readonly ownerId: string;
  readonly clientId: string;
  readonly audience: string;
}

/** In the order of the queries; null where no resource has, or had, the identifier. */
export async function findTargets(
  db: Queryable,
  queries: readonly TargetQuery[],
): Promise<(ResourceTarget | null)[]> {
  if (queries.length === 0) return [];
  const rows = await db.many<{ position: number; target: ResourceTarget | null }>(
    'resources.findTargets',
    prepared(sql`
      select named.position, ${targetColumn}
      from unnest(${listOf(queries.map(({ ownerId }) => ownerId))}::uuid[],
                  ${listOf(queries.map(({ clientId }) => clientId))}::uuid[],
                  ${listOf(queries.map(({ audience }) => audience))})
        with ordinality as named (owner_id, client_id, audience, position)
      join agents a on a.agent_id = named.client_id
      join ${resourceOf(sql`named.audience`, sql`a.organization_id`)}
      left join resource_grants g on g.resource_id = r.resource_id and g.agent_id = named.owner_id`),
  );
  const found = new Map(rows.map(({ position, target }) => [position, target]));
  return queries.map((_, index) => found.get(index + 1) ?? null);
}

/** The same for a token whose owner is a person. */
export async function findPersonTarget(
  db: Queryable,
  { ownerId, clientId, audience }: TargetQuery,
): Promise<ResourceTarget | null> {
  const row = await db.maybe<{ target: ResourceTarget | null }>(
    'resources.findPersonTarget',
    prepared(sql`
      select ${personTargetColumn}
      from people p
      join agents a on a.agent_id = ${clientId}
      join ${resourceOf(sql`${audience}::text`, sql`p.organization_id`)}
      ${shareWithPerson}
      where p.person_id = ${ownerId}`),
  );
  return row?.target ?? null;
}

/** An audience that no resource has may be another spelling of one, or one that the organization has registered and not verified. */
export type OtherUse = 'spelling' | 'pending';

export async function findOtherUse(
  db: Queryable,
  organizationId: string,
  audience: string,
  spellings: readonly string[],
): Promise<OtherUse | null> {
  const local = spellings.map((spelling) => localName(organizationId, spelling));
  const { use } = await db.one<{ use: OtherUse | null }>(
    'resources.findOtherUse',
    sql`select case
          when exists (select from resources where identifier = any(${[...spellings, ...local]}::text[])) then 'spelling'
          when exists (select from resources r
                       where organization_id = ${organizationId} and deleted_at is null and ${isPending}
                         and pending_identifier = any(${[audience, ...spellings]}::text[])) then 'pending'
        end as use`,
  );
  return use;
}
