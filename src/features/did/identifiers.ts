/** DIDs by did:web's rule, derived from the public address, and the URLs of the documents. */

export interface Identifiers {
  /** Our public address, as in `identityProvider`. */
  readonly baseUrl: string;
  /** The DID of the instance. */
  readonly instance: string;
  /** The DID of an agent. */
  agent(agentId: string): string;
  /** The verification method of one of the instance's keys: the same DID URL in every document. */
  instanceKey(kid: string): string;
  agentKey(agentId: string, kid: string): string;
  /** The URL of an agent's A2A card. */
  a2aCard(agentId: string): string;
  card(agentId: string, format?: string): string;
}

export function createIdentifiers(baseUrl: string): Identifiers {
  // did:web escapes the colon of a port, which is its separator, as %3A.
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
