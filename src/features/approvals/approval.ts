/** An approval as the API and the audit log show it. */

import { scopeDescriptions } from '../../contract/scopes.ts';
import { fail } from '../../kernel/fail.ts';
import type { StoredAddressedApproval } from './deciders-store.ts';
import type { AddressedApproval, Approval } from './schema.ts';
import type { ApprovalTerms, StoredApproval } from './store.ts';

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

/** APPROVAL_NOT_PENDING once it is decided, canceled or expired. */
export function requirePending({ status }: Pick<StoredApproval, 'status'>): void {
  if (status !== 'pending')
    fail('APPROVAL_NOT_PENDING', { message: `This request is not open any more: it is ${status}.` });
}

/** The subject of an event. People are named by their ids. */
export const eventSubject = (approval: ApprovalTerms, more: Record<string, unknown> = {}) => {
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
