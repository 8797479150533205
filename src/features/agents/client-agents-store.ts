import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { ClientAgents, StoredDocument } from './client-agents.ts';

export const findClientAgent: ClientAgents['findClientAgent'] = (db, organizationId, clientUri) =>
  db.maybe(
    'agents.findByClientUri',
    sql`select agent_id as "agentId", status from agents
        where organization_id = ${organizationId} and client_uri = ${clientUri}`,
  );

export async function findDocument(db: Queryable, agentId: string): Promise<StoredDocument | undefined> {
  const row = await db.maybe<{ document: StoredDocument }>(
    'agents.findDocument',
    sql`select client_document || jsonb_build_object('keys', public_keys) as document from agents where agent_id = ${agentId}`,
  );
  return row?.document;
}

export async function storeDocument(
  db: Queryable,
  agentId: string,
  { keys, ...document }: StoredDocument,
  updatedAt: string,
): Promise<void> {
  await db.run(
    'agents.storeDocument',
    sql`update agents
        set redirect_uris = ${document.redirectUris}, public_client = ${document.publicClient},
            dpop_bound_access_tokens = ${document.dpopBoundAccessTokens ?? false}, public_keys = ${JSON.stringify(keys)}, client_document = ${JSON.stringify(document)}, updated_at = ${updatedAt}
        where agent_id = ${agentId}`,
  );
}
