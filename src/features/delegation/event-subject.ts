import type { Link } from './chain.ts';

/** The subject of the events of a delegation. The agent concerned is the delegatee. */
export const eventSubject = (link: Link) => {
  const { organizationId, chainId, rootChainId, parentChainId, depth, subjectId, delegatorId, delegateeId } =
    link;
  const { scopes, resource, purpose, allowRedelegation, expiresAt } = link;
  return {
    organizationId,
    agentId: delegateeId,
    metadata: {
      chainId,
      parentChainId,
      rootChainId,
      depth,
      subjectId,
      delegatorId,
      delegateeId,
      scopes,
      resource,
      purpose,
      allowRedelegation,
      expiresAt,
    },
  };
};
