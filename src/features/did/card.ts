/** Cards as data, unsigned: the spec's own, and the published formats. */
import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import { type A2aCard, type BadgeCredential, type OasfRecord, oasfSkills } from './formats.ts';
import type { Identifiers } from './identifiers.ts';

/** E-mails are unique; their local part is what people call the agent. */
export const nameOf = ({ email }: Pick<AgentFacts, 'email'>): string =>
  email.slice(0, Math.max(1, email.lastIndexOf('@')));

export const plainCard = (names: Identifiers, facts: CardFacts, issuedAt: string): AgentCard => ({
  did: names.agent(facts.agentId),
  name: nameOf(facts),
  agentType: facts.agentType,
  capabilities: [...facts.capabilities],
  owner: facts.owner,
  version: facts.version,
  deploymentEnv: facts.deploymentEnv,
  identityProvider: names.baseUrl,
  issuedAt,
});

const describe = ({ agentType, deploymentEnv }: AgentFacts, organization: string): string =>
  `An agent of type ${agentType} in ${deploymentEnv}, registered by ${organization}.`;

/**
 * `organization`: the registered name, which is not unique; the organization's id is beside the DID. The agent's `owner` is free text, so no signed format names it as provider or author: it stays a
 * field of its own. `interfaces`: the A2A endpoints of the agent's listing; none unless it is listed with one.
 */
export const a2aCard = (
  names: Identifiers,
  facts: AgentFacts,
  organization: string,
  interfaces: readonly string[],
): A2aCard => ({
  name: nameOf(facts),
  description: describe(facts, organization),
  supportedInterfaces: interfaces.map((url) => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' })),
  provider: { organization, url: names.baseUrl },
  version: facts.version,
  capabilities: {
    extensions: [
      {
        uri: `${names.baseUrl}/docs#agent-identity`,
        description: 'Who the agent is, and who vouches for it.',
        params: {
          did: names.agent(facts.agentId),
          identityProvider: names.baseUrl,
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

/** The nearest class of OASF's skill catalogue; the agent's own words are in the annotations. */
const skills: Readonly<Record<string, OasfRecord['skills'][number]>> = {
  screener: oasfSkills.topicLabeling,
  classifier: oasfSkills.topicLabeling,
  extractor: oasfSkills.factExtraction,
  summarizer: oasfSkills.summarization,
};

export const oasfRecord = (names: Identifiers, facts: AgentFacts, organization: string): OasfRecord => ({
  schema_version: '0.7.0',
  name: nameOf(facts),
  version: facts.version,
  description: describe(facts, organization),
  authors: [organization],
  created_at: facts.createdAt,
  skills: [skills[facts.agentType] ?? oasfSkills.problemSolving],
  locators: [{ type: 'unspecified', url: names.a2aCard(facts.agentId) }],
  annotations: {
    did: names.agent(facts.agentId),
    agentType: facts.agentType,
    capabilities: facts.capabilities.join(' '),
    deploymentEnv: facts.deploymentEnv,
    organizationId: facts.organizationId,
    owner: facts.owner,
    identityProvider: names.baseUrl,
  },
});

/** As long as an access token: a badge cannot be called back. */
const badgeMs = 3_600_000;

export const badgeCredential = (
  names: Identifiers,
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
  issuer: names.instance,
  validFrom: new Date(now).toISOString(),
  validUntil: new Date(now + badgeMs).toISOString(),
  credentialSubject: { id: names.agent(facts.agentId), badge: oasfRecord(names, facts, organization) },
  credentialSchema: [
    { id: 'https://schema.oasf.outshift.com/schema/0.7.0/objects/record', type: 'JsonSchema' },
  ],
});
