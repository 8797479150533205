/** Writes `token_revocations`, `used_assertions` and `used_proofs`; reads across agents, organizations, credentials, resources and grants. */
import type { PlanTier } from '../../contract/limits.ts';
import { byteas, uuids } from '../../kernel/data/binary-arrays.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { lockShared, tryLockShared } from '../../kernel/data/locks.ts';
import { empty, prepared, sql } from '../../kernel/data/sql.ts';
import type { Lender } from '../people/lenders-store.ts';
import type { JoinedTargets, ResourceTarget } from '../resources/targets-store.ts';

/** An agent and its organization, as far as tokens depend on them. */
export interface AgentStatus {
  readonly agentId: string;
  readonly organizationId: string;
  readonly agentStatus: 'active' | 'suspended' | 'decommissioned';
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly planTier: PlanTier;
  /** The organization's own limit; null: its plan's. */
  readonly maxTokensPerMonth: number | null;
  readonly allowedScopes: readonly string[];
  /** Tokens issued before this time are invalid. */
  readonly tokensEndedAt: string | null;
  /** How often the agent has stopped being active (access-token-claims.ts). */
  readonly epoch: number;
  readonly organizationEpoch: number;
  /** When the organization last changed: it has not ended tokens since. */
  readonly organizationUpdatedAt: string;
  /** The agent's own limit; null: the instance's. */
  readonly rateLimitPerMinute: number | null;
  /** The agent gets no token without a proof of possession. */
  readonly dpopBoundAccessTokens: boolean;
}

/** A person as the subject of a chain: in the place of an agent, of the same organization as the chain's agents. */
export const statusOfPerson = (
  client: AgentStatus,
  { personId, status, ownScopes }: Lender,
): AgentStatus => ({
  ...client,
  agentId: personId,
  agentStatus: status,
  allowedScopes: ownScopes,
  // The chains of a person who is suspended or removed are revoked for good.
  tokensEndedAt: null,
  epoch: 0,
  rateLimitPerMinute: null,
});

const statusColumns = sql`
  a.agent_id as "agentId", a.organization_id as "organizationId", a.status as "agentStatus",
  o.status as "organizationStatus", o.plan_tier as "planTier", o.max_tokens_per_month as "maxTokensPerMonth",
  a.allowed_scopes as "allowedScopes", a.tokens_ended_at as "tokensEndedAt",
  a.epoch, o.epoch as "organizationEpoch", o.updated_at as "organizationUpdatedAt", a.rate_limit_per_minute as "rateLimitPerMinute",
  a.dpop_bound_access_tokens as "dpopBoundAccessTokens"`;

/** A client of the token endpoint. */
export interface ClientStatus extends AgentStatus {
  /** For the requested audience other than our own API: null when it is not registered; undefined when it was not read. */
  readonly target?: ResourceTarget | null;
}

interface SecretOfAgent {
  readonly agentId: string;
  readonly secretHash: Buffer;
}

const secretRows = (secrets: readonly SecretOfAgent[]) => sql`(
    select agent_id, secret_hash, position
    from unnest(${uuids(secrets.map(({ agentId }) => agentId))}::uuid[],
                ${byteas(secrets.map(({ secretHash }) => secretHash.toString('hex')))}::bytea[])
      with ordinality as secrets (agent_id, secret_hash, position)
  )`;

/**
 * The hash is looked up, so a thousand credentials cost no more than one. Two statements: only batches that name another audience
 * than our own API join the resources.
 */
const clientsOfSecrets = (
  secrets: readonly SecretOfAgent[],
  targets: JoinedTargets | undefined,
  now: Date,
) => sql`
  select presented.position, ${statusColumns}, c.secret_hash as "secretHash"${targets ? sql`, ${targets.column}` : empty}
  from ${secretRows(secrets)} as presented
  join agents a using (agent_id)
  join organizations o using (organization_id)
  join credentials c on c.agent_id = a.agent_id and c.secret_hash = presented.secret_hash
  ${targets?.join ?? empty}
  where c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})`;

export interface OwnerOfSecret {
  readonly credentialId: string;
  readonly organizationId: string;
  readonly rateLimitPerMinute: number | null;
  readonly expiresAt: string | null;
}

/** In the order of the secrets: the active credential with this secret, and its agent's organization. Takes no locks. */
export async function findOwnersOfSecrets(
  db: Queryable,
  secrets: readonly SecretOfAgent[],
  now: Date,
): Promise<(OwnerOfSecret | undefined)[]> {
  const rows = await db.many<OwnerOfSecret & { readonly position: number }>(
    'tokens.findClients',
    prepared(sql`
      select position, a.organization_id as "organizationId", a.rate_limit_per_minute as "rateLimitPerMinute",
             c.credential_id as "credentialId", c.expires_at as "expiresAt"
      from ${secretRows(secrets)} as presented
      join credentials c using (agent_id, secret_hash)
      join agents a using (agent_id)
      where c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})`),
  );
  const found = new Map(rows.map((row) => [row.position, row]));
  return secrets.map((_, index) => found.get(index + 1));
}

/** Another transaction is changing the agent or one of its credentials. */
export const lockNotAvailable = Symbol('lock not available');

/** Locks the agents and so their credentials; returns the agents that could not be locked without waiting. */
async function lockAgents(
  tx: Queryable,
  agentIds: readonly string[],
  { waiting }: { waiting: boolean },
): Promise<Set<string>> {
  if (!waiting) return tryLockShared(tx, 'agent', agentIds);
  await lockShared(tx, 'agent', agentIds);
  return new Set();
}

/**
 * In the order of the secrets: the agent whose active credential has this secret. The locks come first, so the rows read after
 * them do not change until the transaction ends.
 */
export async function lockClientsOfSecrets(
  tx: Queryable,
  secrets: readonly SecretOfAgent[],
  options: {
    now: Date;
    waiting: boolean;
    /** For each secret the audience other than our own API; absent when there is none. */
    targets?: JoinedTargets | undefined;
  },
): Promise<((ClientStatus & SecretOfAgent) | typeof lockNotAvailable | undefined)[]> {
  const { now, waiting, targets } = options;
  const agentIds = secrets.map(({ agentId }) => agentId);
  const [unlocked, rows] = await Promise.all([
    lockAgents(tx, agentIds, { waiting }),
    tx.many<ClientStatus & SecretOfAgent & { position: number }>(
      targets ? 'tokens.clientsForResources' : 'tokens.clients',
      prepared(clientsOfSecrets(secrets, targets, now)),
    ),
  ]);
  const found = new Map(rows.map((row) => [row.position, row]));
  return secrets.map(({ agentId }, index) => {
    const client = found.get(index + 1);
    return client && unlocked.has(agentId) ? lockNotAvailable : client;
  });
}

export interface AgentKeys extends AgentStatus {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Agents with their keys, by id; agents that do not exist are left out. */
export async function lockAgentKeys(
  tx: Queryable,
  agentIds: readonly string[],
  { waiting }: { waiting: boolean },
): Promise<Map<string, AgentKeys | typeof lockNotAvailable>> {
  const [unlocked, rows] = await Promise.all([
    lockAgents(tx, agentIds, { waiting }),
    tx.many<AgentKeys>(
      'tokens.agentKeys',
      sql`select ${statusColumns}, a.public_keys as keys
          from agents a join organizations o using (organization_id)
          where a.agent_id = any(${agentIds}::uuid[])`,
    ),
  ]);
  return new Map(rows.map((row) => [row.agentId, unlocked.has(row.agentId) ? lockNotAvailable : row]));
}

/** Undefined unless the agent is a public client. */
export const findPublicClient = (
  db: Queryable,
  agentId: string,
): Promise<
  { organizationId: string; rateLimitPerMinute: number | null; clientUri: string | null } | undefined
> =>
  db.maybe(
    'tokens.findPublicClient',
    sql`select organization_id as "organizationId", rate_limit_per_minute as "rateLimitPerMinute",
          client_uri as "clientUri"
        from agents where agent_id = ${agentId} and public_client`,
  );

/** Waits for a transaction that is changing the agent. */
export async function lockAgentStatus(tx: Queryable, agentId: string): Promise<AgentStatus | undefined> {
  await lockAgents(tx, [agentId], { waiting: true });
  return tx.maybe(
    'tokens.lockAgentStatus',
    sql`select ${statusColumns} from agents a join organizations o using (organization_id)
        where a.agent_id = ${agentId}`,
  );
}

export async function findAgentStatuses(
  db: Queryable,
  agentIds: readonly string[],
): Promise<Map<string, AgentStatus>> {
  const rows = await db.many<AgentStatus>(
    'tokens.findAgentStatuses',
    prepared(sql`
      select ${statusColumns} from agents a join organizations o using (organization_id)
      where a.agent_id = any(${agentIds}::uuid[])`),
  );
  return new Map(rows.map((row) => [row.agentId, row]));
}

/** The part of `AgentStatus` that is its organization's. */
export type OrganizationState = Pick<
  AgentStatus,
  'organizationStatus' | 'planTier' | 'maxTokensPerMonth' | 'organizationEpoch'
>;

export const findOrganizationStatus = (
  db: Queryable,
  organizationId: string,
): Promise<OrganizationState | undefined> =>
  db.maybe(
    'tokens.findOrganizationStatus',
    sql`select status as "organizationStatus", plan_tier as "planTier",
          max_tokens_per_month as "maxTokensPerMonth", epoch as "organizationEpoch"
        from organizations where organization_id = ${organizationId}`,
  );

export const findAgentKeys = (
  db: Queryable,
  agentId: string,
): Promise<(AgentKeys & { readonly clientUri: string | null }) | undefined> =>
  db.maybe(
    'tokens.findAgentKeys',
    sql`select ${statusColumns}, a.public_keys as keys, a.client_uri as "clientUri"
        from agents a join organizations o using (organization_id) where a.agent_id = ${agentId}`,
  );

interface AssertionUse {
  readonly agentId: string;
  readonly assertionId: string;
}

/** The returned function tells whether a use was the first; it may be called once for each. */
export async function insertAssertions(
  tx: Queryable,
  used: readonly (AssertionUse & { readonly expiresAt: Date })[],
): Promise<(use: AssertionUse) => boolean> {
  if (used.length === 0) return () => false;
  const rows = await tx.many<AssertionUse>(
    'tokens.useAssertions',
    sql`insert into used_assertions (agent_id, assertion_id, expires_at)
        select * from unnest(${used.map(({ agentId }) => agentId)}::uuid[],
          ${used.map(({ assertionId }) => assertionId)}::text[],
          ${used.map(({ expiresAt }) => expiresAt)}::timestamptz[]) as used (agent_id, assertion_id, expires_at)
        order by agent_id, assertion_id
        on conflict (agent_id, assertion_id) do nothing
        returning agent_id as "agentId", assertion_id as "assertionId"`,
  );
  const nameOf = ({ agentId, assertionId }: AssertionUse) => `${agentId} ${assertionId}`;
  const first = new Set(rows.map(nameOf));
  return (use) => first.delete(nameOf(use));
}

export async function isAssertionUsed(
  db: Queryable,
  { agentId, assertionId }: AssertionUse,
): Promise<boolean> {
  const row = await db.maybe(
    'tokens.isAssertionUsed',
    prepared(
      sql`select 1 from used_assertions where agent_id = ${agentId} and assertion_id = ${assertionId}`,
    ),
  );
  return row !== undefined;
}

/**
 * In the order of the proofs: whether this use is the first. Of two equal ids one is. No proof is valid for longer than it is remembered,
 * so all of them get the same time.
 */
export async function insertProofs(
  tx: Queryable,
  proofIds: readonly string[],
  expiresAt: Date,
): Promise<boolean[]> {
  const rows = await tx.many<{ proofId: string }>(
    'tokens.useProofs',
    prepared(sql`
      insert into used_proofs (proof_id, expires_at)
      select proof_id, ${expiresAt} from unnest(${byteas(proofIds)}::bytea[]) as used (proof_id) order by proof_id
      on conflict (proof_id) do nothing
      returning encode(proof_id, 'hex') as "proofId"`),
  );
  const first = new Set(rows.map(({ proofId }) => proofId));
  return proofIds.map((proofId) => first.delete(proofId));
}

export async function isProofUsed(db: Queryable, proofId: string): Promise<boolean> {
  const row = await db.maybe(
    'tokens.isProofUsed',
    prepared(sql`select 1 from used_proofs where proof_id = decode(${proofId}, 'hex')`),
  );
  return row !== undefined;
}

/** What tokens and clients depend on. The digest of the hash shows a rotation; the hash itself stays in the table. */
export interface CredentialState {
  readonly revoked: boolean;
  readonly digest: string;
}

const credentialState = sql`
  json_build_object('revoked', c.status is distinct from 'active', 'digest', encode(sha256(c.secret_hash), 'hex'))`;

export const findTokenStatus = (
  db: Queryable,
  agentId: string,
  tokenId: string,
  credentialId: string | undefined,
): Promise<(AgentStatus & { readonly revoked: boolean; readonly credential: CredentialState }) | undefined> =>
  db.maybe(
    'tokens.findTokenStatus',
    prepared(sql`
      select ${statusColumns}, exists (select from token_revocations where token_id = ${tokenId}) as revoked,
        ${credentialState} as credential
      from agents a join organizations o using (organization_id)
        left join credentials c on c.credential_id = ${credentialId ?? null} and c.agent_id = a.agent_id
      where a.agent_id = ${agentId}`),
  );

export interface Revocation {
  readonly tokenId: string;
  readonly agentId: string;
  readonly revokedAt: string;
  readonly expiresAt: string;
}

/** False when it was revoked already. */
export async function insertRevocation(tx: Queryable, revocation: Revocation): Promise<boolean> {
  const { tokenId, agentId, revokedAt, expiresAt } = revocation;
  const inserted = await tx.run(
    'tokens.revoke',
    sql`insert into token_revocations (token_id, agent_id, revoked_at, expires_at)
        values (${tokenId}, ${agentId}, ${revokedAt}, ${expiresAt}) on conflict (token_id) do nothing`,
  );
  return inserted === 1;
}

/** Returns how many were deleted. */
export const deleteExpiredAssertions = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'tokens.deleteExpiredAssertions',
    sql`delete from used_assertions where ctid = any (array(
          select ctid from used_assertions where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );

export const deleteExpiredProofs = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'tokens.deleteExpiredProofs',
    sql`delete from used_proofs where ctid = any (array(
          select ctid from used_proofs where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );

export const deleteExpiredRevocations = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'tokens.deleteExpiredRevocations',
    sql`delete from token_revocations where ctid = any (array(
          select ctid from token_revocations where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );
