import type { Static } from 'typebox';
import { AuthorizationDetailsOrNull } from '../../contract/authorization-details.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import {
  clientFields,
  literals,
  Nullable,
  PageOf,
  pageQuery,
  ScopeName,
  Timestamp,
  Uuid,
} from '../../contract/shapes.ts';

const { minExpirySeconds, maxExpirySeconds, minAccessSeconds, maxAccessSeconds } = limits.approval;

const statuses = ['pending', 'approved', 'denied', 'expired', 'canceled'] as const;
export type ApprovalStatus = (typeof statuses)[number];

const Text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));
/** Too long a text has an error code of its own. */
const LongText = (description: string) => Type.Optional(Type.String({ description }));

/** Checked further by backchannel-request.ts, with the protocol's own error codes. */
export const BackchannelRequest = Type.Object(
  {
    scope: Text(8_192, 'scopes of the API; required unless authorization_details says it all'),
    resource: Text(1_024, 'the identifier of one registered API, or our issuer; required'),
    login_hint: Text(
      320,
      'who is asked; required: the id of a person, the verified e-mail of a person of your organization, or `approvers`',
    ),
    binding_message: LongText(`what the person reads: 1 to ${limits.approval.maxMessageLength} characters`),
    authorization_details: LongText('a JSON array (RFC 9396): the details of the action'),
    requested_expiry: Text(
      32,
      `seconds until the request lapses: ${minExpirySeconds} to ${maxExpirySeconds}`,
    ),
    access_expires_in: Text(
      32,
      `how long the access is to last, in seconds: ${minAccessSeconds} to ${maxAccessSeconds}`,
    ),
    client_notification_token: Text(
      1_024,
      "for ping: your agent's notificationUri gets this as the bearer token",
    ),
    ...clientFields,
  },
  {
    title: 'BackchannelRequest',
    examples: [
      {
        client_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
        client_secret: 'cs_9TpG2b7nQx4LrW1kZv8sYd3mHf6jCa5e',
        resource: 'https://id.example.com',
        scope: 'agents:read',
        login_hint: '550e8400-e29b-41d4-a716-446655440000',
        binding_message: 'List the agents of the team',
      },
    ],
  },
);
export type BackchannelRequest = Static<typeof BackchannelRequest>;

export const BackchannelAnswer = Type.Object(
  {
    auth_req_id: Type.String({
      description: 'for the token endpoint; known to your agent only',
      examples: ['car_5fQ2…'],
    }),
    approval_id: Uuid,
    expires_in: Type.Integer(),
    interval: Type.Integer({ description: 'seconds between two polls' }),
  },
  { title: 'BackchannelAnswer' },
);
export type BackchannelAnswer = Static<typeof BackchannelAnswer>;

const approval = {
  approvalId: Uuid,
  organizationId: Uuid,
  agentId: Uuid,
  resource: Type.Object({
    identifier: Type.String({ examples: ['https://orders.example.com'] }),
    name: Type.String({ examples: ['Orders'] }),
  }),
  scopes: Type.Array(Type.String(), { description: 'as requested; once it is approved, as granted' }),
  authorizationDetails: AuthorizationDetailsOrNull,
  bindingMessage: Nullable(
    Type.String({ description: 'text of the agent', examples: ['Refund order 4711'] }),
  ),
  requestedFor: literals(['person', 'approvers']),
  personId: Nullable(Uuid),
  accessExpiresIn: Type.Integer({
    description: 'seconds from the decision; as requested, once it is approved as granted',
  }),
  status: literals(statuses),
  requiredApprovals: Type.Integer({ description: 'how many people must approve: 1 or 2', examples: [1] }),
  approvals: Type.Array(Type.Object({ personId: Uuid, at: Timestamp }), {
    description: 'the people who have approved so far',
  }),
  decidedBy: Nullable(Uuid),
  decidedAt: Nullable(Timestamp),
  chainId: Nullable(Type.String({ ...Uuid, description: 'the delegation that the approval became' })),
  createdAt: Timestamp,
  expiresAt: Type.String({ ...Timestamp, description: 'a request that is not decided lapses then' }),
};

export const Approval = Type.Object(approval, { title: 'Approval' });
export type Approval = Static<typeof Approval>;

export const ApprovalPage = PageOf(Approval, 'ApprovalPage');

/** For the person who decides. */
export const AddressedApproval = Type.Object(
  {
    ...approval,
    agentName: Type.String({ description: "the agent's e-mail", examples: ['refunds@example.com'] }),
    agentOwner: Type.String(),
    scopeDescriptions: Type.Array(Type.Object({ name: Type.String(), description: Nullable(Type.String()) })),
    url: Type.String({ description: 'the page that decides' }),
  },
  { title: 'AddressedApproval' },
);
export type AddressedApproval = Static<typeof AddressedApproval>;

export const AddressedApprovalPage = PageOf(AddressedApproval, 'AddressedApprovalPage');

export const ApprovalParams = Type.Object({ approvalId: Uuid });

const status = Type.Optional(literals(statuses));
export const ApprovalQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  status,
  agentId: Type.Optional(Uuid),
});
export type ApprovalQuery = Static<typeof ApprovalQuery>;

export const OwnApprovalQuery = Type.Object({ ...pageQuery(pageSizes.standard), status });
export type OwnApprovalQuery = Static<typeof OwnApprovalQuery>;

export const ApprovalDecision = Type.Object(
  {
    decision: literals(['approve', 'deny']),
    scopes: Type.Optional(
      Type.Array(ScopeName, {
        minItems: 1,
        maxItems: limits.resource.maxScopes,
        uniqueItems: true,
        description: 'some of the requested scopes; all of them when absent',
      }),
    ),
    accessExpiresIn: Type.Optional(
      Type.Integer({
        minimum: minAccessSeconds,
        maximum: maxAccessSeconds,
        description: 'at most the requested seconds',
      }),
    ),
    allowRedelegation: Type.Optional(
      Type.Boolean({ description: 'the agent may pass it on; false when absent' }),
    ),
  },
  { title: 'ApprovalDecision', additionalProperties: false },
);
export type ApprovalDecision = Static<typeof ApprovalDecision>;
