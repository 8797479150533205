/** DID documents, after W3C DID Core 1.0. */
import type { AgentFacts, ServiceFragment } from '../../contract/identity.ts';
import type { PublicKey } from '../../kernel/ports/signer.ts';
import type { Identifiers } from './identifiers.ts';
import type { DidDocument } from './schema.ts';

/**
 * `active`: agent and organization are active. `suspended`: one of them is suspended. Earlier signatures still verify, but the
 * document has no authentication methods, so verifiers accept no new ones. `deactivated` (DID Core's term): final.
 */
export type IdentityStatus = 'active' | 'suspended' | 'deactivated';

const contexts = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'];
/** W3C's own, for terms that no other context defines: ours is `agntcy`. */
const undefinedTerms = 'https://www.w3.org/ns/credentials/undefined-terms/v2';

const jwkMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'use', 'kid'] as const;
type PublicKeyJwk = DidDocument['verificationMethod'][number]['publicKeyJwk'];

const publicKeyJwk = (key: Readonly<Record<string, unknown>>): PublicKeyJwk =>
  Object.fromEntries(
    jwkMembers.flatMap((name) => (key[name] === undefined ? [] : [[name, key[name]]])),
  ) as PublicKeyJwk;

/** The instance's keys; each has the same id in every document. */
export type InstanceMethods = ReturnType<typeof instanceMethods>;

export const instanceMethods = (identifiers: Identifiers, keys: readonly PublicKey[]) =>
  keys.map((key) => ({
    id: identifiers.instanceKey(key.kid),
    type: 'JsonWebKey2020',
    controller: identifiers.instance,
    publicKeyJwk: publicKeyJwk(key),
  }));

export function instanceDocument(identifiers: Identifiers, methods: InstanceMethods): DidDocument {
  const ids = methods.map(({ id }) => id);
  return {
    '@context': contexts,
    id: identifiers.instance,
    controller: identifiers.instance,
    verificationMethod: methods,
    // The first key signs; the others are previous keys that the operator still publishes.
    authentication: ids.slice(0, 1),
    assertionMethod: ids,
    service: [
      {
        id: `${identifiers.instance}#authorization-server`,
        type: 'OAuthAuthorizationServer',
        serviceEndpoint: `${identifiers.baseUrl}/.well-known/oauth-authorization-server`,
      },
    ],
  };
}

export function agentDocument(
  identifiers: Identifiers,
  methods: InstanceMethods,
  facts: AgentFacts,
  status: IdentityStatus,
): DidDocument {
  const { agentId, agentType, capabilities, deploymentEnv, owner, version } = facts;
  const did = identifiers.agent(agentId);
  const own = status === 'deactivated' ? [] : ownMethods(identifiers, facts);
  const ownIds = own.map(({ id }) => id);
  return {
    '@context': [...contexts, undefinedTerms],
    id: did,
    controller: identifiers.instance,
    // The instance's keys are included: this document is enough to verify our signatures about the agent.
    verificationMethod: [...own, ...methods],
    authentication: status === 'active' ? ownIds : [],
    assertionMethod: [...ownIds, ...methods.map(({ id }) => id)],
    ...(status === 'active' && { service: servicesOf(identifiers, agentId) }),
    agntcy: { agentId, agentType, capabilities: [...capabilities], deploymentEnv, owner, version },
  };
}

const ownMethods = (identifiers: Identifiers, { agentId, publicKeys }: AgentFacts) =>
  publicKeys.map((key) => ({
    id: identifiers.agentKey(agentId, String(key.kid)),
    type: 'JsonWebKey2020',
    controller: identifiers.agent(agentId),
    publicKeyJwk: publicKeyJwk(key),
  }));

const services: Record<
  ServiceFragment,
  [type: string, endpoint: (identifiers: Identifiers, agentId: string) => string]
> = {
  'agent-card': ['AgentCard', (identifiers, agentId) => identifiers.card(agentId)],
  a2a: ['A2AAgentCard', (identifiers, agentId) => identifiers.a2aCard(agentId)],
  oasf: ['OASFRecord', (identifiers, agentId) => identifiers.card(agentId, 'oasf')],
  badge: ['AgentBadge', (identifiers, agentId) => identifiers.card(agentId, 'badge')],
};

const servicesOf = (identifiers: Identifiers, agentId: string) =>
  Object.entries(services).map(([fragment, [type, endpoint]]) => ({
    id: `${identifiers.agent(agentId)}#${fragment}`,
    type,
    serviceEndpoint: endpoint(identifiers, agentId),
  }));

export const hasDistinctIds = ({ verificationMethod, service = [] }: DidDocument): boolean => {
  const ids = [...verificationMethod, ...service].map(({ id }) => id);
  return new Set(ids).size === ids.length;
};
