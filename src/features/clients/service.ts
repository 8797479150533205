import { createHash } from 'node:crypto';
import { clientEmailDomain } from '../../contract/identity.ts';
import type { Actor } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import { matchesRedirectUri } from '../../kernel/redirect-uri.ts';
import type { Agent } from '../agents/schema.ts';
import { addressProblem, hostOf, isAddress } from './address.ts';
import { type ClientPolicy, findClientPolicy } from './client-policy-slice.ts';
import type { ClientDocument } from './document.ts';
import { createDocuments } from './documents.ts';
import type { ClientDeps } from './feature.ts';

interface RegisteredClient {
  readonly kind: 'registered';
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: Agent['status'];
  /** Its e-mail address. */
  readonly name: string;
  readonly publicClient: boolean;
  readonly redirectUris: readonly string[];
}

interface DocumentClient {
  readonly kind: 'document';
  readonly clientUri: string;
  /** Without a port. */
  readonly host: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly publicClient: boolean;
  readonly document: ClientDocument;
}

export type Client = RegisteredClient | DocumentClient;
export type Admission = 'admitted' | 'refused' | 'approval';

export interface ClientAccess {
  /** An agent id, or the address of a document, which is fetched or comes from the cache. `problem` is for people to read. */
  resolve(clientId: string): Promise<Client | { readonly problem: string }>;
  /** The client of a document that was stored with a request; nothing is fetched. */
  ofDocument(clientUri: string, document: ClientDocument): Client;
  /** RFC 8252: by string, but the port of a loopback redirect URI is ignored. */
  matchesRedirectUri(client: Client, redirectUri: string): boolean;
  /** By the organization's policy. `approval`: an administrator must activate the agent first. Registered agents are always admitted. */
  admission(db: Queryable, organizationId: string, client: Client): Promise<Admission>;
  /** Whether the policy still admits a client that has an agent already. False for an address that no client can have. */
  admits(db: Queryable, organizationId: string, clientUri: string): Promise<boolean>;
  /**
   * The agent of the client in the organization: found, or created by the policy. Stores the document's redirect URIs and keys for the
   * token endpoint. FREE_TIER_LIMIT_EXCEEDED when the plan has no room. Undefined when the policy refuses, and for an agent of another
   * organization.
   */
  agentOf(
    tx: Tx,
    actor: Actor,
    organizationId: string,
    client: Client,
  ): Promise<Pick<Agent, 'agentId' | 'status'> | undefined>;
}

export function createClientService(deps: ClientDeps): ClientAccess {
  const { ledger, findAgent, factsOf, lockOrganization, agents } = deps;
  const documents = createDocuments(deps);

  const ofAgent = async (agentId: string): Promise<Client | { problem: string }> => {
    const agent = await findAgent(agentId);
    if (!agent) return { problem: 'There is no client with this id.' };
    if (agent.clientUri !== null)
      return { problem: 'This client is named by the address of its metadata document.' };
    const { organizationId, status, email: name, publicClient, redirectUris } = agent;
    return {
      kind: 'registered',
      agentId: agent.agentId,
      organizationId,
      status,
      name,
      publicClient,
      redirectUris,
    };
  };

  const ofDocument: ClientAccess['ofDocument'] = (clientUri, document) => {
    const { name, redirectUris, publicClient } = document;
    return {
      kind: 'document',
      clientUri,
      host: hostOf(clientUri),
      name,
      redirectUris,
      publicClient,
      document,
    };
  };

  /** In the transaction: two first uses at once make one agent, because the organization is locked. */
  const register = async (
    tx: Tx,
    actor: Actor,
    organizationId: string,
    { clientUri, host, document }: DocumentClient,
    status: Agent['status'],
  ) => {
    const wanted = {
      organizationId,
      clientUri,
      email: emailOf(organizationId, clientUri),
      version: document.softwareVersion ?? '1.0.0',
      owner: host,
      status,
    };
    const { agentId } = await agents.registerClient(tx, actor, wanted, document);
    await ledger.record(tx, actor, 'client.registered', {
      organizationId,
      agentId,
      metadata: { clientUri, host, status },
    });
    return { agentId, status };
  };

  return {
    async resolve(clientId) {
      if (isUuid(clientId)) return ofAgent(clientId);
      if (!isAddress(clientId))
        return { problem: 'A client_id is the id of an agent, or an address that begins with https://.' };
      const problem = addressProblem(clientId);
      if (problem !== undefined) return { problem: `The client_id ${problem}.` };
      const document = await documents.get(clientId);
      return 'problem' in document ? document : ofDocument(clientId, document);
    },

    ofDocument,
    matchesRedirectUri: ({ redirectUris }, redirectUri) => matchesRedirectUri(redirectUris, redirectUri),

    async admission(db, organizationId, client) {
      if (client.kind === 'registered') return 'admitted';
      const admission = admissionOf(await findClientPolicy(db, organizationId), client.host);
      if (admission !== 'approval') return admission;
      const agent = await agents.findClientAgent(db, organizationId, client.clientUri);
      return agent?.status === 'active' ? 'admitted' : 'approval';
    },

    admits: async (db, organizationId, clientUri) =>
      addressProblem(clientUri) === undefined &&
      admissionOf(await findClientPolicy(db, organizationId), hostOf(clientUri)) !== 'refused',

    async agentOf(tx, actor, organizationId, client) {
      if (client.kind === 'registered') {
        const [agent] = await factsOf([client.agentId], tx);
        return agent?.organizationId === organizationId
          ? { agentId: agent.agentId, status: agent.status }
          : undefined;
      }
      const find = () => agents.findClientAgent(tx, organizationId, client.clientUri);
      const admission = admissionOf(await findClientPolicy(tx, organizationId), client.host);
      if (admission === 'refused') return undefined;
      let agent = await find();
      if (!agent) {
        if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
        agent = await find();
      }
      const status = admission === 'approval' ? 'suspended' : 'active';
      if (!agent) return register(tx, actor, organizationId, client, status);
      await agents.updateClient(tx, actor, agent.agentId, client.document);
      return agent;
    },
  };
}

function admissionOf({ mode, domains }: ClientPolicy, host: string): Admission {
  if (mode === 'domains')
    return domains.some((domain) => host === domain || host.endsWith(`.${domain}`)) ? 'admitted' : 'refused';
  return mode === 'any' ? 'admitted' : mode === 'off' ? 'refused' : 'approval';
}

/** The same for each attempt. With the organization in the hash: on a single-tenant instance addresses are unique over all of them. */
function emailOf(organizationId: string, clientUri: string): string {
  const hash = createHash('sha256').update(`${organizationId} ${clientUri}`).digest('hex');
  return `${hostOf(clientUri)}.${hash.slice(0, 8)}@${clientEmailDomain}`;
}
