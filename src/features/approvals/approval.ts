/** The shapes of an approval: for the API, and for the audit log. */

import { scopeDescriptions } from '../../contract/scopes.ts';
import type { AddressedApproval, Approval } from './schema.ts';
import type { StoredAddressedApproval, StoredApproval } from './store.ts';

export const ownApiName = 'Countersign';

/** The page that decides. */
export const approvalUrl = (issuer: string, approvalId: string): string =>
  `${issuer}/console/approvals/${approvalId}`;

export const approvalOf = ({
  audience,
  resourceId: _resource,
  resourceName,
  support,
  requiresTwo,
  hasPing: _ping,
  ...approval
}: StoredApproval): Approval => ({
  ...approval,
  resource: { identifier: audience, name: resourceName ?? ownApiName },
  requestedFor: approval.personId === null ? 'approvers' : 'person',
  requiredApprovals: requiresTwo ? 2 : 1,
  approvals: support.map(({ personId, at }) => ({ personId, at })),
});

export const addressedApprovalOf = (
  { agentName, agentOwner, resourceScopes, ...approval }: StoredAddressedApproval,
  issuer: string,
): AddressedApproval => {
  const own: Readonly<Record<string, string>> = scopeDescriptions;
  const descriptions = new Map(resourceScopes?.map(({ name, description }) => [name, description]));
  return {
    ...approvalOf(approval),
    agentName,
    agentOwner,
    scopeDescriptions: approval.scopes.map((name) => ({
      name,
      description: (resourceScopes ? descriptions.get(name) : own[name]) ?? null,
    })),
    url: approvalUrl(issuer, approval.approvalId),
  };
};

type Described = Pick<
  StoredApproval,
  | 'approvalId'
  | 'organizationId'
  | 'agentId'
  | 'audience'
  | 'scopes'
  | 'authorizationDetails'
  | 'bindingMessage'
  | 'personId'
  | 'accessExpiresIn'
  | 'expiresAt'
>;

/** The subject of an event. People are named by their ids. */
export const eventSubject = (approval: Described, more: Record<string, unknown> = {}) => {
  const { organizationId, agentId, approvalId, audience, scopes, authorizationDetails } = approval;
  const { bindingMessage, personId, accessExpiresIn, expiresAt } = approval;
  return {
    organizationId,
    agentId,
    metadata: {
      approvalId,
      resource: audience,
      scopes,
      ...(authorizationDetails && { authorizationDetails }),
      ...(bindingMessage !== null && { bindingMessage }),
      requestedFor: personId === null ? 'approvers' : 'person',
      ...(personId !== null && { personId }),
      accessExpiresIn,
      expiresAt,
      ...more,
    },
  };
};
