/** What things are called: DIDs by did:web's rule, from the public address alone, and the addresses that go with them. */

export interface Identifiers {
  /** The public address, as in `identityProvider`. */
  readonly baseUrl: string;
  /** did:web of the instance. */
  readonly instance: string;
  agent(agentId: string): string;
  /** The verification method of one of the instance's keys; the same DID URL in every document that has it. */
  instanceKey(kid: string): string;
  agentKey(agentId: string, kid: string): string;
  /** Where the A2A card of an agent is. */
  a2aCard(agentId: string): string;
  card(agentId: string, format?: string): string;
}

export function createIdentifiers(baseUrl: string): Identifiers {
  // A port's colon would read as a separator, so did:web writes it %3A.
  const instance = `did:web:${encodeURIComponent(new URL(baseUrl).host)}`;
  const agent = (agentId: string) => `${instance}:agents:${agentId}`;
  return {
    baseUrl,
    instance,
    agent,
    instanceKey: (kid) => `${instance}#${kid}`,
    agentKey: (agentId, kid) => `${agent(agentId)}#${kid}`,
    a2aCard: (agentId) => `${baseUrl}/agents/${agentId}/.well-known/agent-card.json`,
    card: (agentId, format) =>
      `${baseUrl}/api/v1/agents/${agentId}/did/card${format === undefined ? '' : `?format=${format}`}`,
  };
}
