import type { Agent } from './schema.ts';

/** The subject of an agent's audit events. */
export const eventSubject = (agent: Agent, more: Record<string, unknown> = {}) => {
  const { organizationId, agentId, agentType, status, owner, version, deploymentEnv } = agent;
  const { allowedScopes, rateLimitPerMinute, redirectUris, publicClient, clientUri, notificationUri } = agent;
  const { dpopBoundAccessTokens, displayName, labels } = agent;
  return {
    organizationId,
    agentId,
    metadata: {
      agentType,
      status,
      owner,
      version,
      deploymentEnv,
      ...(displayName !== null && { displayName }),
      ...(Object.keys(labels).length > 0 && { labels }),
      allowedScopes,
      ...(rateLimitPerMinute !== null && { rateLimitPerMinute }),
      ...(redirectUris.length > 0 && { redirectUris }),
      ...(publicClient && { publicClient }),
      ...(dpopBoundAccessTokens && { dpopBoundAccessTokens }),
      ...(clientUri !== null && { clientUri }),
      // The origin only: path and query may be a secret of the receiver.
      ...(notificationUri !== null && { notificationTarget: new URL(notificationUri).origin }),
      ...more,
    },
  };
};
