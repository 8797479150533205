/** Writes `authorization_requests`; reads slugs and names of organizations. */
import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { ClientDocument } from '../clients/document.ts';
import type { Prompt } from './parameters.ts';

export interface AuthorizationRequest {
  readonly requestId: string;
  /** Null until the person has chosen. */
  readonly organizationId: string | null;
  /** Of a registered client. */
  readonly clientAgentId: string | null;
  /** Of a client that came by a document. */
  readonly clientUri: string | null;
  readonly clientDocument: ClientDocument | null;
  readonly redirectUri: string;
  readonly redirectUriNamed: boolean;
  readonly codeChallenge: string;
  readonly dpopJkt: string | null;
  readonly resource: string;
  readonly scopes: readonly string[] | null;
  readonly authorizationDetails: AuthorizationDetails | null;
  readonly state: string | null;
  readonly prompt: readonly Prompt[];
  readonly loginHint: string | null;
  readonly foreignStart: boolean;
  /** The person who has signed in for this request. */
  readonly personId: string | null;
  readonly expiresAt: string;
  readonly decidedAt: string | null;
}

const columns = sql`
  request_id as "requestId", organization_id as "organizationId", client_agent_id as "clientAgentId",
  client_uri as "clientUri", client_document as "clientDocument", redirect_uri as "redirectUri",
  redirect_uri_named as "redirectUriNamed", code_challenge as "codeChallenge", dpop_jkt as "dpopJkt", resource, scopes,
  authorization_details as "authorizationDetails", state, prompt,
  login_hint as "loginHint", foreign_start as "foreignStart", person_id as "personId",
  expires_at as "expiresAt", decided_at as "decidedAt"`;

export async function insertRequest(
  db: Queryable,
  browserHash: Buffer,
  request: AuthorizationRequest,
): Promise<void> {
  await db.run(
    'authorization.insertRequest',
    sql`insert into authorization_requests
          (request_id, browser_hash, organization_id, client_agent_id, client_uri, client_document, redirect_uri,
           redirect_uri_named, code_challenge, dpop_jkt, resource, scopes, authorization_details, state, prompt, login_hint, foreign_start,
           expires_at)
        values
          (${request.requestId}, ${browserHash}, ${request.organizationId}, ${request.clientAgentId},
           ${request.clientUri}, ${request.clientDocument && JSON.stringify(request.clientDocument)}::jsonb,
           ${request.redirectUri}, ${request.redirectUriNamed}, ${request.codeChallenge}, ${request.dpopJkt}, ${request.resource},
           ${request.scopes}, ${request.authorizationDetails && JSON.stringify(request.authorizationDetails)}::jsonb,
           ${request.state}, ${request.prompt}, ${request.loginHint}, ${request.foreignStart},
           ${request.expiresAt})`,
  );
}

/** Undefined when it is unknown, over, or of another browser. */
export const findRequest = (
  db: Queryable,
  requestId: string,
  browserHash: Buffer,
  now: Date,
): Promise<AuthorizationRequest | undefined> =>
  db.maybe(
    'authorization.findRequest',
    sql`select ${columns} from authorization_requests
        where request_id = ${requestId} and browser_hash = ${browserHash} and expires_at > ${now}`,
  );

/** The same; of concurrent decisions one has the row. */
export const lockRequest = (
  tx: Queryable,
  requestId: string,
  browserHash: Buffer,
  now: Date,
): Promise<AuthorizationRequest | undefined> =>
  tx.maybe(
    'authorization.lockRequest',
    sql`select ${columns} from authorization_requests
        where request_id = ${requestId} and browser_hash = ${browserHash} and expires_at > ${now} for update`,
  );

export async function updateOrganization(
  db: Queryable,
  requestId: string,
  organizationId: string,
): Promise<void> {
  await db.run(
    'authorization.chooseOrganization',
    sql`update authorization_requests set organization_id = ${organizationId}
        where request_id = ${requestId} and decided_at is null`,
  );
}

export async function updatePerson(db: Queryable, requestId: string, personId: string): Promise<void> {
  await db.run(
    'authorization.signedIn',
    sql`update authorization_requests set person_id = ${personId}
        where request_id = ${requestId} and decided_at is null`,
  );
}

export async function markDecided(tx: Queryable, requestId: string, now: Date): Promise<void> {
  await tx.run(
    'authorization.decide',
    sql`update authorization_requests set decided_at = ${now} where request_id = ${requestId}`,
  );
}

/** Returns how many were deleted. */
export const deleteExpiredRequests = (db: Queryable, now: Date, atMost: number): Promise<number> =>
  db.run(
    'authorization.deleteExpiredRequests',
    sql`delete from authorization_requests where ctid = any (array(
          select ctid from authorization_requests where expires_at < ${now} limit ${atMost} for update skip locked))`,
  );

interface FoundOrganization {
  readonly organizationId: string;
  readonly name: string;
}

/** An active organization, by its slug or id. */
export const findOrganization = (db: Queryable, slugOrId: string): Promise<FoundOrganization | undefined> =>
  db.maybe(
    'authorization.findOrganization',
    sql`select organization_id as "organizationId", name from organizations
        where status = 'active' and ${isUuid(slugOrId) ? sql`organization_id = ${slugOrId}` : sql`slug = ${slugOrId}`}`,
  );
