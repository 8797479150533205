/** The agents of clients that came by a metadata document; features/clients reads the documents and decides who is admitted. */

import { isDeepStrictEqual } from 'node:util';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { findClientAgent, findDocument, storeDocument } from './client-agents-store.ts';
import { eventSubject } from './events.ts';
import type { AgentDeps } from './feature.ts';
import type { StoredKey } from './keys.ts';
import type { Agent } from './schema.ts';
import type { AgentService } from './service.ts';
import { findKeys, lockAgent } from './store.ts';

/** The part of a document that the agent keeps. */
export interface StoredDocument {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly publicClient: boolean;
  /** Absent in a document that an earlier version has read. */
  readonly dpopBoundAccessTokens?: boolean;
  readonly keys: readonly StoredKey[];
}

type ClientToRegister = Pick<Agent, 'organizationId' | 'email' | 'version' | 'owner' | 'status'> & {
  readonly clientUri: string;
};

export interface ClientAgents {
  /** The agent of a document's client; one per organization and address. */
  findClientAgent(
    db: Queryable,
    organizationId: string,
    clientUri: string,
  ): Promise<Pick<Agent, 'agentId' | 'status'> | undefined>;
  /** Whether the client has an agent with this document. */
  hasDocument(
    db: Queryable,
    organizationId: string,
    clientUri: string,
    document: StoredDocument,
  ): Promise<boolean>;
  /** The caller has locked the organization, and found no agent. */
  registerClient(tx: Tx, actor: Actor, wanted: ClientToRegister, document: StoredDocument): Promise<Agent>;
  /** Stores a document that differs from the stored one; records a change of redirect URIs, keys, kind or demanded proofs. */
  updateClient(tx: Tx, actor: Actor, agentId: string, document: StoredDocument): Promise<void>;
}

export function createClientAgents(
  { clock, ledger }: AgentDeps,
  register: AgentService['register'],
): ClientAgents {
  return {
    findClientAgent,

    async hasDocument(db, organizationId, clientUri, document) {
      const agent = await findClientAgent(db, organizationId, clientUri);
      return agent !== undefined && isDeepStrictEqual(await findDocument(db, agent.agentId), document);
    },

    async registerClient(tx, actor, wanted, document) {
      const { redirectUris, publicClient, dpopBoundAccessTokens = false } = document;
      const agent = await register(tx, actor, {
        ...wanted,
        agentType: 'custom',
        capabilities: [],
        deploymentEnv: 'production',
        allowedScopes: [],
        redirectUris: [...redirectUris],
        publicClient,
        dpopBoundAccessTokens,
      });
      await storeDocument(tx, agent.agentId, document, agent.updatedAt);
      return agent;
    },

    async updateClient(tx, actor, agentId, document) {
      if (isDeepStrictEqual(await findDocument(tx, agentId), document)) return;
      const before = await lockAgent(tx, undefined, agentId);
      if (!before || before.status === 'decommissioned') return;
      const after = {
        ...before,
        redirectUris: [...document.redirectUris],
        publicClient: document.publicClient,
        dpopBoundAccessTokens: document.dpopBoundAccessTokens ?? false,
        updatedAt: isoTime(clock),
      };
      const keys = await findKeys(tx, undefined, agentId);
      const changed = [
        ...(['redirectUris', 'publicClient', 'dpopBoundAccessTokens'] as const).filter(
          (field) => !isDeepStrictEqual(before[field], after[field]),
        ),
        ...(isDeepStrictEqual(keys, document.keys) ? [] : ['keys']),
      ];
      await storeDocument(tx, agentId, document, changed.length > 0 ? after.updatedAt : before.updatedAt);
      if (changed.length === 0) return;
      const kids = document.keys.map(({ kid }) => kid);
      await ledger.record(tx, actor, 'agent.updated', eventSubject(after, { changed, kids }));
    },
  };
}
