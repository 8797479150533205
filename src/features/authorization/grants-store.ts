/** Writes `authorization_codes` and `refresh_tokens`; reads which client their agent is. */
import type { Queryable } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';
import { isUuid } from '../../kernel/ids.ts';

/** What a code or a refresh token stands for. */
export interface Granted {
  readonly chainId: string;
  /** The client. */
  readonly agentId: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** RFC 7638 thumbprint of the key that its holder must prove to have; null: none. */
  readonly dpopJkt: string | null;
}

interface Locked {
  /** Of a client that came by a document. */
  readonly clientUri: string | null;
  readonly publicClient: boolean;
  readonly usedAt: string | null;
}

export interface StoredCode extends Granted, Locked {
  readonly redirectUri: string;
  /** The authorization request named it, so the token request must repeat it. */
  readonly redirectUriNamed: boolean;
  readonly codeChallenge: string;
  readonly expiresAt: string;
}

export interface StoredRefreshToken extends Granted, Locked {
  /** See refresh-token.ts. */
  readonly successor: Buffer | null;
}

/** With the agent `a`. */
const locked = sql`g.chain_id as "chainId", g.agent_id as "agentId", g.resource, g.scopes, g.used_at as "usedAt",
  g.dpop_jkt as "dpopJkt", a.client_uri as "clientUri", a.public_client as "publicClient"`;

export async function insertCode(
  tx: Queryable,
  codeHash: Buffer,
  code: Omit<StoredCode, keyof Locked>,
): Promise<void> {
  await tx.run(
    'authorization.insertCode',
    sql`insert into authorization_codes
          (code_hash, chain_id, agent_id, redirect_uri, redirect_uri_named, code_challenge, dpop_jkt, resource, scopes,
           expires_at)
        values
          (${codeHash}, ${code.chainId}, ${code.agentId}, ${code.redirectUri}, ${code.redirectUriNamed},
           ${code.codeChallenge}, ${code.dpopJkt}, ${code.resource}, ${code.scopes}, ${code.expiresAt})`,
  );
}

export const lockCode = (tx: Queryable, codeHash: Buffer): Promise<StoredCode | undefined> =>
  tx.maybe(
    'authorization.lockCode',
    prepared(sql`select ${locked}, g.redirect_uri as "redirectUri", g.redirect_uri_named as "redirectUriNamed",
          g.code_challenge as "codeChallenge", g.expires_at as "expiresAt"
        from authorization_codes g join agents a using (agent_id) where g.code_hash = ${codeHash} for update of g`),
  );

export async function markCodeUsed(tx: Queryable, codeHash: Buffer, now: Date): Promise<void> {
  await tx.run(
    'authorization.useCode',
    prepared(
      sql`update authorization_codes set used_at = ${now} where code_hash = ${codeHash} and used_at is null`,
    ),
  );
}

export async function insertRefreshToken(
  tx: Queryable,
  tokenHash: Buffer,
  { chainId, agentId, resource, scopes, dpopJkt }: Granted,
  now: Date,
): Promise<void> {
  await tx.run(
    'authorization.insertRefreshToken',
    prepared(sql`insert into refresh_tokens (token_hash, chain_id, agent_id, resource, scopes, dpop_jkt, created_at)
        values (${tokenHash}, ${chainId}, ${agentId}, ${resource}, ${scopes}, ${dpopJkt}, ${now})`),
  );
}

export const lockRefreshToken = (tx: Queryable, tokenHash: Buffer): Promise<StoredRefreshToken | undefined> =>
  tx.maybe(
    'authorization.lockRefreshToken',
    prepared(sql`select ${locked}, g.successor
        from refresh_tokens g join agents a using (agent_id) where g.token_hash = ${tokenHash} for update of g`),
  );

export async function markRefreshTokenUsed(
  tx: Queryable,
  tokenHash: Buffer,
  successor: Buffer,
  now: Date,
): Promise<void> {
  await tx.run(
    'authorization.useRefreshToken',
    prepared(
      sql`update refresh_tokens set used_at = ${now}, successor = ${successor} where token_hash = ${tokenHash}`,
    ),
  );
}

/** A code or a refresh token, and the client that may present it. */
export interface Owner {
  readonly chainId: string;
  readonly agentId: string;
  readonly clientUri: string | null;
  readonly publicClient: boolean;
}

const owner = sql`g.chain_id as "chainId", a.agent_id as "agentId", a.client_uri as "clientUri",
  a.public_client as "publicClient"`;

export const findOwnerOfCode = (db: Queryable, codeHash: Buffer): Promise<Owner | undefined> =>
  db.maybe(
    'authorization.ownerOfCode',
    prepared(
      sql`select ${owner} from authorization_codes g join agents a using (agent_id) where g.code_hash = ${codeHash}`,
    ),
  );

export const findOwnerOfRefreshToken = (db: Queryable, tokenHash: Buffer): Promise<Owner | undefined> =>
  db.maybe(
    'authorization.ownerOfRefreshToken',
    prepared(
      sql`select ${owner} from refresh_tokens g join agents a using (agent_id) where g.token_hash = ${tokenHash}`,
    ),
  );

/** Whether a client id is that of a registered public client. */
export const isPublicClient = async (db: Queryable, clientId: string): Promise<boolean> =>
  isUuid(clientId) &&
  (await db.maybe(
    'authorization.isPublicClient',
    sql`select 1 from agents where agent_id = ${clientId} and public_client and client_uri is null`,
  )) !== undefined;

/** Returns how many were deleted. */
export const deleteExpiredCodes = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'authorization.deleteExpiredCodes',
    sql`delete from authorization_codes where ctid = any (array(
          select ctid from authorization_codes where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );
