/** The public facts about an agent, used by identity documents, reports and listings. */
import type { Static } from 'typebox';
import Type from './json-schema.ts';
import { Timestamp } from './shapes.ts';

export const agentTypes = [
  'screener',
  'classifier',
  'orchestrator',
  'extractor',
  'summarizer',
  'router',
  'monitor',
  'custom',
] as const;

/** Of the e-mail addresses that agents of clients with a metadata document get. No mail reaches it (RFC 2606). */
export const clientEmailDomain = 'client.invalid';

/**
 * The services in an agent's DID document, by the fragments of their ids. The fragment of a key is its `kid`. Ids in one document
 * must differ (DID Core 1.0, 5.3 and 5.4), so no key may have one of these as its `kid`.
 */
export const serviceFragments = ['agent-card', 'a2a', 'oasf', 'badge'] as const;
export type ServiceFragment = (typeof serviceFragments)[number];

/** The current state of an agent, with its registered public keys. */
export interface AgentFacts {
  readonly agentId: string;
  readonly organizationId: string;
  readonly email: string;
  readonly agentType: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly owner: string;
  readonly deploymentEnv: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly publicKeys: readonly Readonly<Record<string, unknown>>[];
}

/** The facts that a card shows. */
export type CardFacts = Pick<
  AgentFacts,
  'agentId' | 'email' | 'agentType' | 'capabilities' | 'owner' | 'version' | 'deploymentEnv'
>;

export const AgentCard = Type.Object(
  {
    did: Type.String(),
    name: Type.String({ description: "the local part of the agent's e-mail" }),
    agentType: Type.String(),
    capabilities: Type.Array(Type.String()),
    owner: Type.String({ description: 'free text, as registered; not verified' }),
    version: Type.String(),
    deploymentEnv: Type.String(),
    identityProvider: Type.String({ format: 'uri' }),
    issuedAt: Timestamp,
  },
  { title: 'AgentCard' },
);
export type AgentCard = Static<typeof AgentCard>;
