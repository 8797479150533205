import Type from '../../contract/json-schema.ts';
import { namesSeveralTargets } from '../../kernel/audience.ts';
import { client, ownBearer, type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import type { PossessionChecks } from '../tokens/possession.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { IssueIdToken } from './exchange/id-token.ts';
import { exchangeRefusalCodes, parseExchange, tokenType } from './exchange/request.ts';
import {
  ExchangedToken,
  ExchangeQuery,
  ExchangeRequest,
  IdTokenRequest,
  IdTokenResponse,
} from './exchange/schema.ts';
import type { TestToken } from './exchange/test-token.ts';
import type { PolicyService } from './policies/service.ts';
import {
  immutableFields,
  NewTrustPolicy,
  TestedToken,
  TrustPolicy,
  TrustPolicyChange,
  TrustPolicyPage,
  TrustPolicyParams,
  TrustPolicyQuery,
  TrustTest,
} from './schema.ts';

interface OidcHandlers {
  readonly issuer: string;
  readonly policies: PolicyService;
  readonly test: TestToken;
  readonly exchange: Exchange;
  readonly issueIdToken: IssueIdToken;
  readonly provePossession: PossessionChecks['prove'];
}

const tag = 'Workload identity';
const url = '/oidc/trust-policies';

export const oidcRoutes = ({
  issuer,
  policies,
  test,
  exchange,
  issueIdToken,
  provePossession,
}: OidcHandlers): RouteEntry[] => [
  route({
    id: 'createTrustPolicy',
    summary: 'Create a trust policy: whose tokens admit a workload as an agent',
    tag,
    method: 'POST',
    url,
    access: scope('agents:write'),
    limit: 'caller',
    errors: ['AGENT_NOT_FOUND', 'AGENT_DECOMMISSIONED', 'FORBIDDEN', 'TRUST_POLICY_ALREADY_EXISTS'],
    schema: { body: NewTrustPolicy, response: { 201: TrustPolicy } },
    handler: ({ caller, body }) => policies.create(caller, body),
  }),
  route({
    id: 'listTrustPolicies',
    summary: 'List trust policies, newest first',
    tag,
    method: 'GET',
    url,
    access: scope('agents:read'),
    limit: 'caller',
    schema: { query: TrustPolicyQuery, response: { 200: TrustPolicyPage } },
    handler: ({ caller, query }) => policies.list(caller, query),
  }),
  route({
    id: 'getTrustPolicy',
    summary: 'Read a trust policy',
    tag,
    method: 'GET',
    url: `${url}/:policyId`,
    access: scope('agents:read'),
    limit: 'caller',
    errors: ['TRUST_POLICY_NOT_FOUND'],
    schema: { params: TrustPolicyParams, response: { 200: TrustPolicy } },
    handler: ({ caller, params }) => policies.get(caller, params.policyId),
  }),
  route({
    id: 'updateTrustPolicy',
    summary: 'Change a trust policy; takes effect at once',
    tag,
    method: 'PATCH',
    url: `${url}/:policyId`,
    access: scope('agents:write'),
    limit: 'caller',
    errors: [
      'TRUST_POLICY_NOT_FOUND',
      'FORBIDDEN',
      'IMMUTABLE_FIELD',
      'TRUST_POLICY_ALREADY_EXISTS',
      'AGENT_DECOMMISSIONED',
    ],
    immutable: immutableFields,
    optionalBody: true,
    schema: { params: TrustPolicyParams, body: TrustPolicyChange, response: { 200: TrustPolicy } },
    handler: ({ caller, params, body }) => policies.update(caller, params.policyId, body),
  }),
  route({
    id: 'deleteTrustPolicy',
    summary: 'Delete a trust policy; from then on it admits no token',
    tag,
    method: 'DELETE',
    url: `${url}/:policyId`,
    access: scope('agents:write'),
    limit: 'caller',
    errors: ['TRUST_POLICY_NOT_FOUND', 'FORBIDDEN'],
    schema: { params: TrustPolicyParams, response: { 204: Type.Null() } },
    handler: ({ caller, params }) => policies.remove(caller, params.policyId),
  }),
  route({
    id: 'testTrustPolicy',
    summary: 'Test a trust policy with a token; issues nothing',
    tag,
    method: 'POST',
    url: `${url}/:policyId/test`,
    access: scope('agents:read'),
    readOnly: true,
    limit: 'caller',
    errors: ['TRUST_POLICY_NOT_FOUND'],
    schema: { params: TrustPolicyParams, body: TestedToken, response: { 200: TrustTest } },
    handler: ({ caller, params, body }) => test(caller, params.policyId, body.token),
  }),
  route({
    id: 'exchangeOutsideToken',
    summary: "Exchange another issuer's token for an access token (RFC 8693)",
    tag,
    method: 'POST',
    url: '/oidc/token',
    access: client(),
    limit: 'afterVerification',
    accepts: 'form',
    failures: 'oauth',
    malformed: (form) => (namesSeveralTargets(form, issuer) ? 'invalid_target' : 'invalid_request'),
    schema: { query: ExchangeQuery, body: ExchangeRequest, response: { 200: ExchangedToken } },
    async handler({ body, query, headers, origin, countAgainst }) {
      const { audience, ...assertion } = parseExchange(body, query, issuer);
      const issued = await exchange.redeem(
        {
          ...assertion,
          origin,
          agentsToLock: async () => [],
          countAgainst,
          provePossession: () => provePossession(headers.dpop, `${issuer}/api/v1/oidc/token`),
        },
        audience,
        exchangeRefusalCodes,
      );
      return { ...issued, issued_token_type: tokenType('access_token') };
    },
  }),
  route({
    id: 'issueIdToken',
    summary: 'Get an ID token, which identifies the agent to other services',
    tag,
    method: 'POST',
    url: '/oidc/id-token',
    // An ID token names the agent itself; relying parties do not read `act`.
    access: ownBearer(),
    limit: 'caller',
    accepts: 'form',
    errors: ['AGENT_NOT_ACTIVE', 'FORBIDDEN'],
    schema: { body: IdTokenRequest, response: { 200: IdTokenResponse } },
    handler: ({ caller, body }) => issueIdToken(caller, body),
  }),
];
