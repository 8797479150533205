import Type from '../../contract/json-schema.ts';
import { bearer, bearerWithScopeFor, type RouteEntry, route } from '../../kernel/http/route.ts';
import {
  CreatedDelegation,
  DelegationPage,
  DelegationParams,
  DelegationQuery,
  DelegationQuestion,
  DelegationWithLinks,
  DescendantQuery,
  NewDelegation,
  VerifiedDelegation,
} from './schema.ts';
import type { DelegationService } from './service.ts';

const tag = 'Delegation';
const limit = 'caller';

export const delegationRoutes = (delegations: DelegationService): RouteEntry[] => [
  route({
    id: 'createDelegation',
    summary: 'Let another agent act on your behalf, or pass on what you were given',
    description:
      'The answer has a delegation token, once. The delegatee redeems it at `POST /api/v1/token` for an access token. An admin can lend the scopes of another agent with `delegatorId`.',
    links: [
      {
        to: 'verifyDelegation',
        description: 'Ask whether the delegation still holds',
        requestBody: { token: '$response.body#/delegationToken' },
      },
    ],
    tag,
    method: 'POST',
    url: '/delegations',
    access: bearer(),
    limit,
    idempotent: { event: 'delegation.created', idField: 'chainId', secret: true },
    schema: { body: NewDelegation, response: { 201: CreatedDelegation } },
    errors: [
      'AGENT_NOT_FOUND',
      'AGENT_NOT_ACTIVE',
      'FORBIDDEN',
      'DELEGATION_NOT_FOUND',
      'DELEGATION_SCOPE_EXCEEDED',
      'DELEGATION_EXPIRED',
      'DELEGATION_REVOKED',
    ],
    handler: ({ caller, body }) => delegations.create(caller, body),
  }),
  route({
    id: 'listDelegations',
    summary: 'List the delegations you gave and were given, newest first',
    description:
      'With `agentId` it lists those of another agent, with `organizationId`, `subjectType` or `personId` those of the whole organization.',
    tag,
    method: 'GET',
    url: '/delegations',
    access: bearerWithScopeFor(['agentId', 'organizationId', 'subjectType', 'personId'], 'audit:read'),
    limit,
    errors: ['INSUFFICIENT_SCOPE'],
    schema: { query: DelegationQuery, response: { 200: DelegationPage } },
    handler: ({ caller, query }) => delegations.list(caller, query),
  }),
  route({
    id: 'getDelegation',
    summary: 'Get a delegation with the links it hangs on',
    tag,
    method: 'GET',
    url: '/delegations/:chainId',
    access: bearer(),
    limit,
    schema: { params: DelegationParams, response: { 200: DelegationWithLinks } },
    errors: ['DELEGATION_NOT_FOUND'],
    handler: ({ caller, params }) => delegations.get(caller, params.chainId),
  }),
  route({
    id: 'listDelegationDescendants',
    summary: 'List what was passed on from a delegation: what ends together with it',
    description: 'The links below this one, nearest first. Revoking it revokes the active ones too.',
    tag,
    method: 'GET',
    url: '/delegations/:chainId/descendants',
    access: bearer(),
    limit,
    schema: {
      params: DelegationParams,
      query: DescendantQuery,
      response: { 200: DelegationPage },
    },
    errors: ['DELEGATION_NOT_FOUND'],
    handler: ({ caller, params, query }) => delegations.listDescendants(caller, params.chainId, query),
  }),
  route({
    id: 'verifyDelegation',
    summary: 'Ask whether a delegation token, or a token redeemed with one, still holds',
    tag,
    method: 'POST',
    url: '/delegations/verify',
    access: bearer(),
    readOnly: true,
    limit,
    schema: { body: DelegationQuestion, response: { 200: VerifiedDelegation } },
    errors: ['DELEGATION_NOT_FOUND', 'DELEGATION_EXPIRED', 'DELEGATION_REVOKED'],
    handler: ({ caller, body }) => delegations.verify(caller, body.token),
  }),
  route({
    id: 'revokeDelegation',
    summary: 'End a delegation, all that was passed on from it, and their tokens',
    tag,
    method: 'DELETE',
    url: '/delegations/:chainId',
    access: bearer(),
    limit,
    schema: { params: DelegationParams, response: { 204: Type.Null() } },
    errors: ['DELEGATION_NOT_FOUND', 'FORBIDDEN'],
    async handler({ caller, params }) {
      await delegations.revoke(caller, params.chainId);
    },
  }),
];
