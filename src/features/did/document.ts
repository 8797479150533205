/** DID documents, after W3C DID Core 1.0. */
import type { AgentFacts, ServiceFragment } from '../../contract/identity.ts';
import type { PublicKey } from '../../kernel/ports/signer.ts';
import type { Identifiers } from './identifiers.ts';
import type { DidDocument } from './schema.ts';

/**
 * `good`: agent and organization are active. `suspended`: one of them is not, for now: earlier signatures still verify, but
 * nobody should take a new one for the agent's, so it has no authentication methods. `gone`: for good.
 */
export type IdentityStatus = 'good' | 'suspended' | 'gone';

const contexts = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'];
/** W3C's own, for terms that no other context defines: ours is `agntcy`. */
const undefinedTerms = 'https://www.w3.org/ns/credentials/undefined-terms/v2';

const jwkMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'use', 'kid'] as const;
type PublicKeyJwk = DidDocument['verificationMethod'][number]['publicKeyJwk'];

const publicKeyJwk = (key: Readonly<Record<string, unknown>>): PublicKeyJwk =>
  Object.fromEntries(
    jwkMembers.flatMap((name) => (key[name] === undefined ? [] : [[name, key[name]]])),
  ) as PublicKeyJwk;

/** The keys of the instance, each under the one id it has everywhere. */
export type InstanceMethods = ReturnType<typeof instanceMethods>;

export const instanceMethods = (names: Identifiers, keys: readonly PublicKey[]) =>
  keys.map((key) => ({
    id: names.instanceKey(key.kid),
    type: 'JsonWebKey2020',
    controller: names.instance,
    publicKeyJwk: publicKeyJwk(key),
  }));

export function instanceDocument(names: Identifiers, methods: InstanceMethods): DidDocument {
  const ids = methods.map(({ id }) => id);
  return {
    '@context': contexts,
    id: names.instance,
    controller: names.instance,
    verificationMethod: methods,
    // The first signs; the others are those it came after, as long as the operator lets them stand.
    authentication: ids.slice(0, 1),
    assertionMethod: ids,
    service: [
      {
        id: `${names.instance}#authorization-server`,
        type: 'OAuthAuthorizationServer',
        serviceEndpoint: `${names.baseUrl}/.well-known/oauth-authorization-server`,
      },
    ],
  };
}

export function agentDocument(
  names: Identifiers,
  methods: InstanceMethods,
  facts: AgentFacts,
  standing: IdentityStatus,
): DidDocument {
  const { agentId, agentType, capabilities, deploymentEnv, owner, version } = facts;
  const did = names.agent(agentId);
  const own = standing === 'gone' ? [] : ownMethods(names, facts);
  const ownIds = own.map(({ id }) => id);
  return {
    '@context': [...contexts, undefinedTerms],
    id: did,
    controller: names.instance,
    // With the instance's key at hand, what we have signed about the agent is verified by this document alone.
    verificationMethod: [...own, ...methods],
    authentication: standing === 'good' ? ownIds : [],
    assertionMethod: [...ownIds, ...methods.map(({ id }) => id)],
    ...(standing === 'good' && { service: servicesOf(names, agentId) }),
    agntcy: { agentId, agentType, capabilities: [...capabilities], deploymentEnv, owner, version },
  };
}

const ownMethods = (names: Identifiers, { agentId, publicKeys }: AgentFacts) =>
  publicKeys.map((key) => ({
    id: names.agentKey(agentId, String(key.kid)),
    type: 'JsonWebKey2020',
    controller: names.agent(agentId),
    publicKeyJwk: publicKeyJwk(key),
  }));

const services: Record<
  ServiceFragment,
  [type: string, endpoint: (names: Identifiers, agentId: string) => string]
> = {
  'agent-card': ['AgentCard', (names, agentId) => names.card(agentId)],
  a2a: ['A2AAgentCard', (names, agentId) => names.a2aCard(agentId)],
  oasf: ['OASFRecord', (names, agentId) => names.card(agentId, 'oasf')],
  badge: ['AgentBadge', (names, agentId) => names.card(agentId, 'badge')],
};

const servicesOf = (names: Identifiers, agentId: string) =>
  Object.entries(services).map(([fragment, [type, endpoint]]) => ({
    id: `${names.agent(agentId)}#${fragment}`,
    type,
    serviceEndpoint: endpoint(names, agentId),
  }));

export const hasDistinctIds = ({ verificationMethod, service = [] }: DidDocument): boolean => {
  const ids = [...verificationMethod, ...service].map(({ id }) => id);
  return new Set(ids).size === ids.length;
};
