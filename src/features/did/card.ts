/** Unsigned cards: the spec's own, and the published formats. */
import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import { type A2aCard, type BadgeCredential, type OasfRecord, oasfSkills } from './formats.ts';
import type { Identifiers } from './identifiers.ts';

/** The local part of the e-mail. The agent's display name is in no card. */
export const nameOf = ({ email }: Pick<AgentFacts, 'email'>): string =>
  email.slice(0, Math.max(1, email.lastIndexOf('@')));

export const plainCard = (identifiers: Identifiers, facts: CardFacts, issuedAt: string): AgentCard => ({
  did: identifiers.agent(facts.agentId),
  name: nameOf(facts),
  agentType: facts.agentType,
  capabilities: [...facts.capabilities],
  owner: facts.owner,
  version: facts.version,
  deploymentEnv: facts.deploymentEnv,
  identityProvider: identifiers.baseUrl,
  issuedAt,
});

const describe = ({ agentType, deploymentEnv }: AgentFacts, organization: string): string =>
  `An agent of type ${agentType} in ${deploymentEnv}, registered by ${organization}.`;

/**
 * `organization`: the registered name, which is not unique; the organization's id is next to the DID. The agent's `owner` is free
 * text, so no signed format names it as provider or author. `interfaces`: the A2A endpoints of the agent's published listing.
 */
export const a2aCard = (
  identifiers: Identifiers,
  facts: AgentFacts,
  organization: string,
  interfaces: readonly string[],
): A2aCard => ({
  name: nameOf(facts),
  description: describe(facts, organization),
  supportedInterfaces: interfaces.map((url) => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' })),
  provider: { organization, url: identifiers.baseUrl },
  version: facts.version,
  capabilities: {
    extensions: [
      {
        uri: `${identifiers.baseUrl}/docs#agent-identity`,
        description: 'Who the agent is, and who vouches for it.',
        params: {
          did: identifiers.agent(facts.agentId),
          identityProvider: identifiers.baseUrl,
          organizationId: facts.organizationId,
          owner: facts.owner,
        },
      },
    ],
  },
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: facts.capabilities.map((capability) => {
    const [resource = capability, action = capability] = capability.split(':');
    return {
      id: capability,
      name: capability,
      description: `May ${action} ${resource}.`,
      tags: [...new Set([resource, action, facts.agentType])],
    };
  }),
});

/**
 * The classes of OASF's skill catalogue that a capability names, such as `text_classification:topic_labeling`. Usually none: we sign
 * the record, so it states only facts that were given for the agent. The annotations have its own type and capabilities.
 */
const namedSkills = ({ capabilities }: AgentFacts): OasfRecord['skills'] =>
  Object.values(oasfSkills).filter(({ name }) => capabilities.includes(name.split('/').slice(-2).join(':')));

export const oasfRecord = (
  identifiers: Identifiers,
  facts: AgentFacts,
  organization: string,
): OasfRecord => ({
  schema_version: '0.7.0',
  name: nameOf(facts),
  version: facts.version,
  description: describe(facts, organization),
  authors: [organization],
  created_at: facts.createdAt,
  skills: namedSkills(facts),
  locators: [{ type: 'unspecified', url: identifiers.a2aCard(facts.agentId) }],
  annotations: {
    did: identifiers.agent(facts.agentId),
    agentType: facts.agentType,
    capabilities: facts.capabilities.join(' '),
    deploymentEnv: facts.deploymentEnv,
    organizationId: facts.organizationId,
    owner: facts.owner,
    identityProvider: identifiers.baseUrl,
  },
});

/** As long as an access token: a badge cannot be revoked. */
const badgeLifetimeMs = 3_600_000;

export const badgeCredential = (
  identifiers: Identifiers,
  facts: AgentFacts,
  organization: string,
  { id, now }: { id: string; now: number },
): BadgeCredential => ({
  '@context': [
    'https://www.w3.org/ns/credentials/v2',
    'https://www.w3.org/ns/credentials/undefined-terms/v2',
  ],
  id: `urn:uuid:${id}`,
  type: ['VerifiableCredential', 'AgentBadge'],
  issuer: identifiers.instance,
  validFrom: new Date(now).toISOString(),
  validUntil: new Date(now + badgeLifetimeMs).toISOString(),
  credentialSubject: {
    id: identifiers.agent(facts.agentId),
    badge: oasfRecord(identifiers, facts, organization),
  },
  credentialSchema: [
    { id: 'https://schema.oasf.outshift.com/schema/0.7.0/objects/record', type: 'JsonSchema' },
  ],
});
