import Type from '../../contract/json-schema.ts';
import { namesSeveralTargets } from '../../kernel/audience.ts';
import {
  bearer,
  client,
  type RouteEntry,
  rootRoute,
  route,
  scope,
  session,
} from '../../kernel/http/route.ts';
import type { BackchannelAuthentication } from './backchannel.ts';
import type { Decisions } from './decisions.ts';
import {
  AddressedApproval,
  AddressedApprovalPage,
  Approval,
  ApprovalDecision,
  ApprovalPage,
  ApprovalParams,
  ApprovalQuery,
  BackchannelAnswer,
  BackchannelRequest,
  OwnApprovalQuery,
} from './schema.ts';
import type { ApprovalService } from './service.ts';

const own = {
  tag: 'Console',
  access: session(),
  limit: 'caller',
  quota: 'free',
  hidden: true,
} as const;
const ownUrl = '/console/api/me/approvals';

export const approvalRoutes = (
  { request }: Pick<BackchannelAuthentication, 'request'>,
  service: ApprovalService,
  decisions: Decisions,
  issuer: string,
): RouteEntry[] => [
  route({
    id: 'requestApproval',
    summary: 'Ask a person to approve an action (OpenID CIBA, RFC 9396)',
    description:
      'The agent authenticates as at the token endpoint. It then polls there with the `auth_req_id`, or is told by a ping at its `notificationUri`. An approval is a delegation of the person who gave it.',
    tag: 'Approvals',
    method: 'POST',
    url: '/bc-authorize',
    access: client(),
    limit: 'afterVerification',
    accepts: 'form',
    failures: 'oauth',
    malformed: (form) => (namesSeveralTargets(form, issuer) ? 'invalid_target' : 'invalid_request'),
    schema: { body: BackchannelRequest, response: { 200: BackchannelAnswer } },
    errors: ['APPROVAL_LIMIT_EXCEEDED'],
    handler: ({ body, headers, origin, countAgainst }) =>
      request({
        form: body,
        authorization: String(headers.authorization ?? '') || undefined,
        origin,
        countAgainst,
      }),
  }),
  route({
    id: 'listApprovals',
    summary: "List the organization's requests for approval, newest first",
    tag: 'Approvals',
    method: 'GET',
    url: '/approvals',
    access: scope('audit:read'),
    limit: 'caller',
    schema: { query: ApprovalQuery, response: { 200: ApprovalPage } },
    handler: ({ caller, query }) => service.list(caller, query),
  }),
  route({
    id: 'getApproval',
    summary: 'Read a request for approval',
    description: 'For the agent that asked, and for callers with the scope `audit:read`.',
    tag: 'Approvals',
    method: 'GET',
    url: '/approvals/:approvalId',
    access: bearer(),
    limit: 'caller',
    schema: { params: ApprovalParams, response: { 200: Approval } },
    errors: ['APPROVAL_NOT_FOUND'],
    handler: ({ caller, params }) => service.get(caller, params.approvalId),
  }),
  route({
    id: 'cancelApproval',
    summary: 'Cancel a request that waits for a decision',
    description: 'For the agent that asked, and for administrators of its organization.',
    tag: 'Approvals',
    method: 'DELETE',
    url: '/approvals/:approvalId',
    access: bearer(),
    limit: 'caller',
    schema: { params: ApprovalParams, response: { 204: Type.Null() } },
    errors: ['APPROVAL_NOT_FOUND', 'APPROVAL_NOT_PENDING'],
    async handler({ caller, params }) {
      await service.cancel(caller, params.approvalId);
    },
  }),
  rootRoute({
    ...own,
    id: 'listOwnApprovals',
    summary: 'List the requests that are addressed to you, newest first',
    method: 'GET',
    url: ownUrl,
    schema: { query: OwnApprovalQuery, response: { 200: AddressedApprovalPage } },
    errors: ['FORBIDDEN'],
    handler: ({ caller, query }) => decisions.list(caller, query),
  }),
  rootRoute({
    ...own,
    id: 'getOwnApproval',
    summary: 'Read a request that is addressed to you',
    method: 'GET',
    url: `${ownUrl}/:approvalId`,
    schema: { params: ApprovalParams, response: { 200: AddressedApproval } },
    errors: ['FORBIDDEN', 'APPROVAL_NOT_FOUND'],
    handler: ({ caller, params }) => decisions.get(caller, params.approvalId),
  }),
  rootRoute({
    ...own,
    id: 'decideApproval',
    summary: 'Approve or deny a request; you can narrow it',
    method: 'POST',
    url: `${ownUrl}/:approvalId`,
    schema: { params: ApprovalParams, body: ApprovalDecision, response: { 200: AddressedApproval } },
    errors: ['FORBIDDEN', 'APPROVAL_NOT_FOUND', 'APPROVAL_NOT_PENDING', 'AGENT_NOT_ACTIVE'],
    handler: ({ caller, params, body }) => decisions.decide(caller, params.approvalId, body),
  }),
];
