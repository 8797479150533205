import { AgentCard } from '../../contract/identity.ts';
import Type from '../../contract/json-schema.ts';
import { open, policy, type RouteEntry, rootRoute, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import { A2aCard, Badge, OasfRecord } from './formats.ts';
import { CardQuery, DidDocument, DidParams, DidResolution } from './schema.ts';
import type { DidService } from './service.ts';

/** Short: after a suspension, cached copies still show the agent's authentication methods for at most this long. */
const cacheControl = 'public, max-age=60';

type SetHeader = (name: string, value: string) => void;

export const didRoutes = (did: DidService): RouteEntry[] => {
  /** Only successful responses are cacheable. */
  const cacheable = async <T>(header: SetHeader, response: T | Promise<T>): Promise<T> => {
    const body = await response;
    header('cache-control', cacheControl);
    return body;
  };

  return [
    rootRoute({
      id: 'instanceDid',
      summary: "The instance's DID document",
      tag: 'Identity documents',
      method: 'GET',
      url: '/.well-known/did.json',
      access: open(),
      limit: 'caller',
      schema: { response: { 200: DidDocument } },
      handler: ({ header }) => cacheable(header, did.instance()),
    }),
    route({
      id: 'getDid',
      summary: "An agent's DID document",
      tag: 'Identity documents',
      method: 'GET',
      url: '/agents/:agentId/did',
      access: open(),
      limit: 'caller',
      schema: { params: DidParams, response: { 200: DidDocument } },
      errors: ['AGENT_NOT_FOUND', 'AGENT_DECOMMISSIONED'],
      handler: ({ params, header }) => cacheable(header, did.document(params.agentId)),
    }),
    rootRoute({
      id: 'getDidAtRoot',
      summary: "The same document, where did:web's rule looks for it",
      tag: 'Identity documents',
      method: 'GET',
      url: '/agents/:agentId/did.json',
      access: open(),
      limit: 'caller',
      schema: { params: DidParams, response: { 200: DidDocument } },
      errors: ['AGENT_NOT_FOUND', 'AGENT_DECOMMISSIONED'],
      handler: ({ params, header }) => cacheable(header, did.document(params.agentId)),
    }),
    route({
      id: 'resolveDid',
      summary: "Resolve an agent's DID, with what is known about the document",
      tag: 'Identity documents',
      method: 'GET',
      url: '/agents/:agentId/did/resolve',
      access: policy('dids:resolve', (caller) => organization(caller.organizationId)),
      limit: 'caller',
      schema: { params: DidParams, response: { 200: DidResolution } },
      errors: ['AGENT_NOT_FOUND'],
      produces: 'application/ld+json;profile="https://w3id.org/did-resolution"',
      handler: ({ caller, params }) => did.resolve(caller, params.agentId),
    }),
    route({
      id: 'getAgentCard',
      summary: "An agent's card: plain, or signed in a published format",
      tag: 'Identity documents',
      method: 'GET',
      url: '/agents/:agentId/did/card',
      access: open(),
      limit: 'caller',
      schema: {
        params: DidParams,
        query: CardQuery,
        response: { 200: Type.Union([AgentCard, A2aCard, OasfRecord, Badge]) },
      },
      errors: ['AGENT_NOT_FOUND'],
      handler: ({ params, query, header }) =>
        cacheable<object>(header, did[query.format ?? 'card'](params.agentId)),
    }),
    rootRoute({
      id: 'getA2aCard',
      summary: "An agent's A2A card, where A2A clients look for it",
      tag: 'Identity documents',
      method: 'GET',
      url: '/agents/:agentId/.well-known/agent-card.json',
      access: open(),
      limit: 'caller',
      schema: { params: DidParams, response: { 200: A2aCard } },
      errors: ['AGENT_NOT_FOUND'],
      handler: ({ params, header }) => cacheable(header, did.a2a(params.agentId)),
    }),
  ];
};
