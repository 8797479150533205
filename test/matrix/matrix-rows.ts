/**
 * The permission matrix: every operation against every principal. A route without a row fails the test. The rows of a slice are in its
 * own test (all-rows.ts). An answer is the status, and the code when it is a refusal.
 */
import { randomUUID } from 'node:crypto';
import { newAgent } from '../support/harness.ts';

/** Unchanged resources for the request of a cell, in the organization of the member and the admin. */
export interface Target {
  /** Of the instance. */
  readonly issuer: string;
  readonly organizationId: string;
  /** A member with the role `member`. */
  readonly agentId: string;
  readonly credentialId: string;
  /** Its secret. */
  readonly clientSecret: string;
  /** An access token of that agent. */
  readonly token: string;
  /** A session of that agent, as a header `Cookie`. */
  readonly sessionCookie: string;
  /** An agent of the same organization that is no member yet. */
  readonly outsiderId: string;
  /** A person of that organization who acts through that agent. */
  readonly personId: string;
  /** A sign-in of that person at the OpenID provider that waits for the choice of an organization, as a header `Cookie`. */
  readonly signInCookie: string;
  /** A connection of that organization whose provider does not answer. */
  readonly connectionId: string;
  /** A session of an admin of that organization, and a finished test of the connection, as a header `Cookie`. */
  readonly testerCookie: string;
  /** A request of a registered client of that organization that waits for the person's decision. */
  readonly requestId: string;
  readonly requestClientId: string;
  /** The browser of that request with the person's session, as a header `Cookie`. */
  readonly personCookie: string;
  /** What the person has consented to before. */
  readonly consentId: string;
  /** A request of that agent that waits for the person's decision. */
  readonly approvalId: string;
  /** An event of that agent. */
  readonly eventId: string;
  /** A federation partner of the instance. */
  readonly partnerId: string;
  /** A trust policy that maps `outsideToken` to that agent. */
  readonly policyId: string;
  readonly outsideToken: string;
  /** From the addresses of the embedded billing provider's pages about that organization. */
  readonly checkoutToken: string;
  readonly portalToken: string;
  /** A payment event about the subscription that the organization has. */
  readonly paymentEvent: { readonly body: string; readonly signature: string };
  /** A delegation by that agent to the outsider. */
  readonly chainId: string;
  readonly delegationToken: string;
  /** An agent of the operator's organization. */
  readonly colleagueId: string;
  /** A published listing of that agent. */
  readonly listingId: string;
  /** A webhook subscription of that organization, and a delivery of it. */
  readonly webhookId: string;
  readonly deliveryId: string;
  /** A poll stream of signals of that agent. */
  readonly streamId: string;
  /**
   * A resource of that organization, shared with the operator's organization (`recipientId`), to which one more scope is offered, and an
   * agent with a grant for it.
   */
  readonly resourceId: string;
  readonly recipientId: string;
  readonly granteeId: string;
}

/** Callers that act on another agent's behalf, with every scope that can be lent. */
export const delegatedPrincipals = [
  /** Without scopes of its own; lent by an admin of its organization. */
  'delegated',
  /** A member with the role admin that holds the same scopes itself; lent by an admin of its organization. */
  'delegatedAdmin',
  /** Without scopes of its own, in the operator's organization; lent by the operator. */
  'delegatedByOperator',
  /** As `delegatedByOperator`, after the delegation was revoked. */
  'delegationRevoked',
] as const;

/** Callers by a trust policy, with every scope of an organization. The agent of both has the role admin. */
export const workloads = {
  /** Its policy does not act as admin: it gets the answers of a member. */
  workload: 'member',
  /** Its policy acts as admin: it gets the answers of an admin. */
  workloadAdmin: 'admin',
} as const;
export type Workload = keyof typeof workloads;
const workloadNames = Object.keys(workloads) as Workload[];

export const principals = [
  'anonymous',
  'garbage',
  'expired',
  'revoked',
  'wrongScope',
  'otherOrganization',
  'suspendedOrganization',
  'decommissioned',
  'member',
  'admin',
  'operator',
  ...delegatedPrincipals,
  ...workloadNames,
] as const;
export type Principal = (typeof principals)[number];

/** A request without its access token. */
export interface TestRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly payload?: object | string;
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
  /** The response does not end by itself: its beginning is enough. */
  readonly stream?: true;
}

export interface Row {
  readonly request: (target: Target) => TestRequest;
  readonly answers: Readonly<Record<Exclude<Principal, Workload>, string>> &
    Readonly<Partial<Record<Workload, string>>>;
}

/** For the test of a slice: false while all-rows.ts imports it for its rows alone. */
export const runsTests = ({ url }: ImportMeta): boolean => !url.endsWith('?rows');

/** Workloads differ from members and admins only where a row says so. */
export const answersOf = ({ answers }: Row): Readonly<Record<Principal, string>> => ({
  ...(Object.fromEntries(workloadNames.map((who) => [who, answers[workloads[who]]])) as Record<
    Workload,
    string
  >),
  ...answers,
});

/** Open routes: the token does not matter. */
export const sameForAll = (answer: string) =>
  Object.fromEntries(principals.map((who) => [who, answer])) as Row['answers'];

/** Routes that require a token: these principals get the same answer everywhere. */
export const behindToken = (
  answers: Record<
    | 'wrongScope'
    | 'otherOrganization'
    | 'member'
    | 'admin'
    | 'operator'
    | 'delegated'
    | 'delegatedAdmin'
    | 'delegatedByOperator',
    string
  >,
): Row['answers'] => ({
  anonymous: '401 UNAUTHORIZED',
  garbage: '401 UNAUTHORIZED',
  expired: '401 UNAUTHORIZED',
  revoked: '401 UNAUTHORIZED',
  suspendedOrganization: '403 ORG_SUSPENDED',
  decommissioned: '401 UNAUTHORIZED',
  delegationRevoked: '403 DELEGATION_REVOKED',
  ...answers,
});

/** Resources of an agent: callers with the scope, in their own organization; others get 404. */
export const ofAgents = (success: string, foreign = '404 AGENT_NOT_FOUND') =>
  behindToken({
    wrongScope: '403 INSUFFICIENT_SCOPE',
    otherOrganization: foreign,
    member: success,
    admin: success,
    operator: success,
    delegated: success,
    delegatedAdmin: success,
    delegatedByOperator: foreign,
  });

/** As `ofAgents`, for lasting rights: a caller cannot grant scopes that it holds by delegation only. */
export const ofLastingPower = (success: string, foreign?: string) => ({
  ...ofAgents(success, foreign),
  delegated: '403 FORBIDDEN',
});

/** Every agent in its own organization, with any scopes; others get 404. */
export const ofAnyAgent = (success: string) =>
  behindToken({
    wrongScope: success,
    otherOrganization: '404 ORG_NOT_FOUND',
    member: success,
    admin: success,
    operator: success,
    delegated: success,
    delegatedAdmin: success,
    delegatedByOperator: '404 ORG_NOT_FOUND',
  });
/** By scope or as an admin, in the own organization. */
const ofWebhooks = (success: string, foreign = '404 WEBHOOK_NOT_FOUND') => ofAgents(success, foreign);

const ofSignals = (success: string) => ofAgents(success, '404 SIGNAL_STREAM_NOT_FOUND');

/** Only the agent of the stream changes it, which is none of the principals. */
const ofOwnSignals = () => ofSignals('403 FORBIDDEN');

/** None of the principals but the operator holds resources:read or resources:write. */
const ofResources = (success: string) =>
  behindToken({
    wrongScope: '403 INSUFFICIENT_SCOPE',
    otherOrganization: '403 INSUFFICIENT_SCOPE',
    member: '403 INSUFFICIENT_SCOPE',
    admin: '403 INSUFFICIENT_SCOPE',
    operator: success,
    delegated: '403 INSUFFICIENT_SCOPE',
    delegatedAdmin: '403 INSUFFICIENT_SCOPE',
    delegatedByOperator: '403 INSUFFICIENT_SCOPE',
  });

/** A delegated caller has no role and is no operator. */
const withoutRole = {
  delegated: '403 FORBIDDEN',
  delegatedAdmin: '403 FORBIDDEN',
  delegatedByOperator: '403 FORBIDDEN',
};

const operatorOnly = (success: string) =>
  behindToken({
    wrongScope: '403 FORBIDDEN',
    otherOrganization: '403 FORBIDDEN',
    member: '403 FORBIDDEN',
    admin: '403 FORBIDDEN',
    operator: success,
    ...withoutRole,
  });

export const ofOrganizationAdmins = (success: string, foreign = '404 ORG_NOT_FOUND') =>
  behindToken({
    wrongScope: '403 FORBIDDEN',
    otherOrganization: foreign,
    member: '403 FORBIDDEN',
    admin: success,
    operator: success,
    ...withoutRole,
  });

/** Admins, for their own organization; the share of the target is the operator's. */
const ofReceivingAdmins = (success: string) => ({
  ...ofOrganizationAdmins(success, '404 SHARE_NOT_FOUND'),
  admin: '404 SHARE_NOT_FOUND',
});

/** Every caller with a token, for its own organization or itself. */
export const ofOwnOrganization = (answer: string, operator = answer) =>
  behindToken({
    wrongScope: answer,
    otherOrganization: answer,
    member: answer,
    admin: answer,
    operator,
    delegated: answer,
    delegatedAdmin: answer,
    delegatedByOperator: operator,
  });

const api = '/api/v1';

/** As a page of the console sends it. */
const fromPage = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

export const validTokenRequest = ({ agentId, clientSecret }: Target): TestRequest => ({
  method: 'POST',
  url: `${api}/token`,
  form: { grant_type: 'client_credentials', client_id: agentId, client_secret: clientSecret },
});

const validExchange = ({ agentId, outsideToken }: Target): TestRequest => ({
  method: 'POST',
  url: `${api}/oidc/token`,
  form: {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    client_id: agentId,
    subject_token: outsideToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  },
});
/** Routes whose answer differs between a foreign id and an unknown one, with the reason. Open routes are not listed. */
export const showsForeign: Readonly<Record<string, string>> = {
  getSession: 'the holder of a cookie already knows that its session exists',
  getAuthorizationRequest: 'the holder of a cookie already knows that its request exists',
  decideAuthorizationRequest: 'the holder of a cookie already knows that its request exists',
  getAuthorizationSignIn: 'the holder of a cookie already knows that its request exists',
  chooseAuthorizationOrganization: 'the holder of a cookie already knows that its request exists',
  listOwnConsents: 'the holder of a cookie already knows that its session exists',
  streamOwnApprovals: 'the holder of a cookie already knows that its session exists',
  revokeOwnConsent: 'the holder of a cookie already knows that its session exists',
  listOwnApprovals: 'the holder of a cookie already knows that its session exists',
  getOwnApproval: 'the holder of a cookie already knows that its session exists',
  decideApproval: 'the holder of a cookie already knows that its session exists',
  createCommandLineCode: 'the holder of a cookie already knows that its session exists',
  startConnectionTest: 'the holder of a cookie already knows that its session exists',
  getConnectionTest: 'the holder of a cookie already knows that its session exists',
  revokeToken: 'the holder of a token already knows that it exists',
  scaffoldAgent: 'the interface itself says FORBIDDEN for an agent of another organization',
};

/** Routes with a writing method that change nothing, with the reason. */
export const changesNothing: Readonly<Record<string, string>> = {
  introspectToken: 'answers a question about a token; POST keeps the token out of addresses',
  previewToken: 'answers what a token would be; issues nothing',
  verifyDelegation: 'answers a question about a token; POST keeps the token out of addresses',
  verifyPartnerToken: "answers a question about a partner's token; issues nothing",
  replayWebhookDeliveries: 'this subscription has nothing to replay; replays.test.ts has the event',
  createConsoleLink: 'a link lasts a minute and opens nothing by itself; the session has the event',
  verifyResource: 'this resource is verified; verification.test.ts has the event',
  testTrustPolicy: 'answers whether a policy accepts a token; issues and marks nothing',
  authorizeByForm: 'begins a request; the decision of the person has the event',
  chooseAuthorizationOrganization: 'part of a request; the decision of the person has the event',
  startConnectionTest: 'begins a sign-in that ends without a session',
  pollSignals: 'reads signals',
  verifySignalStream: 'asks for a signal',
  mcp: 'reads; mcp.test.ts has the event of the tool that asks a person',
  addSignalSubject: 'this stream leaves no subject out; signal-streams.test.ts has the event',
};

/** Changes of its own agent that a workload may make, with the reason. The others would give the agent power, or speak for it. */
export const workloadMayChangeItself: Readonly<Record<string, string>> = {
  revokeToken: 'takes power away',
  revokeCredential: 'takes power away',
  revokeDelegation: 'takes power away',
  decommissionAgent: 'takes power away',
  removePerson: 'takes power away',
  deleteListing: 'takes the words of the agent away',
  updateAgent: 'the request changes no scope and no status',
  previewToken: 'issues nothing',
  introspectToken: 'issues nothing',
  testTrustPolicy: 'issues nothing',
};

/** Routes whose change writes more than one event, with the reason. */
export const writesMore: Readonly<Record<string, string>> = {
  decommissionAgent: 'each session of the console that ends with it has its own event',
  revokeCredential: 'each session of the console that ends with it has its own event',
  deleteOrganization: 'each session of the console that ends with it has its own event',
  decideApproval: 'the delegation has its own event',
  deleteResource: 'each share and grant that ends has its own event',
  putResourceShare: 'both organizations have the event in their logs',
  deleteResourceShare: 'both organizations have the event in their logs',
  acceptShare: 'both organizations have the event in their logs',
  declineShare: 'both organizations have the event in their logs',
};

/** Routes that fail for the operator, whose plan cannot be upgraded. An admin of the target's organization sends the request. */
export const asTenantAdmin: ReadonlySet<string> = new Set(['upgradeTier']);

const delegationTo = (delegateeId: string, more: object = {}): TestRequest => ({
  method: 'POST',
  url: `${api}/delegations`,
  payload: { delegateeId, scopes: ['agents:read'], ...more },
});

/** Further requests of routes that have a row, with other rules. */
export const variants: Readonly<Record<string, Row>> = {
  'createDelegation with delegatorId': {
    request: ({ agentId, outsiderId }) => delegationTo(outsiderId, { delegatorId: agentId }),
    answers: {
      ...behindToken({
        wrongScope: '403 FORBIDDEN',
        otherOrganization: '404 AGENT_NOT_FOUND',
        member: '403 FORBIDDEN',
        admin: '201',
        operator: '201',
        delegated: '403 FORBIDDEN',
        delegatedAdmin: '403 FORBIDDEN',
        delegatedByOperator: '404 AGENT_NOT_FOUND',
      }),
      workloadAdmin: '403 FORBIDDEN',
    },
  },
};

/** Requests that succeed for the operator, for rows whose own request is refused. */
export const succeedingOtherwise: Readonly<Record<string, Row['request']>> = {
  issueToken: validTokenRequest,
  exchangeOutsideToken: validExchange,
  createDelegation: ({ colleagueId }) => delegationTo(colleagueId),
  requestApproval: ({ agentId, clientSecret, personId, issuer }) => ({
    method: 'POST',
    url: `${api}/bc-authorize`,
    form: {
      ...{ client_id: agentId, client_secret: clientSecret },
      ...{ resource: issuer, scope: 'agents:read', login_hint: personId },
    },
  }),
  signIn: ({ agentId, clientSecret }) => ({
    method: 'POST',
    url: '/console/api/session',
    payload: { clientId: agentId, clientSecret },
    headers: fromPage,
  }),
  providerIdentity: ({ signInCookie: cookie }) => ({
    method: 'GET',
    url: '/console/api/oidc/identity',
    headers: { cookie },
  }),
  chooseOrganization: ({ personId, signInCookie: cookie }) => ({
    method: 'POST',
    url: '/console/api/oidc/identity',
    payload: { personId },
    headers: { ...fromPage, cookie },
  }),
  declineInvitation: ({ personId, signInCookie: cookie }) => ({
    method: 'DELETE',
    url: `/console/api/oidc/invitations/${personId}`,
    headers: { ...fromPage, cookie },
  }),
};

const trustPolicies = `${api}/oidc/trust-policies`;

export const rows: Readonly<Record<string, Row>> = {
  health: { request: () => ({ method: 'GET', url: '/health' }), answers: sameForAll('200') },
  livez: { request: () => ({ method: 'GET', url: '/livez' }), answers: sameForAll('200') },
  readyz: { request: () => ({ method: 'GET', url: '/readyz' }), answers: sameForAll('200') },
  metrics: { request: () => ({ method: 'GET', url: '/metrics' }), answers: sameForAll('200') },
  openapi: { request: () => ({ method: 'GET', url: '/openapi.json' }), answers: sameForAll('200') },
  product: { request: () => ({ method: 'GET', url: '/' }), answers: sameForAll('200') },
  favicon: { request: () => ({ method: 'GET', url: '/favicon.ico' }), answers: sameForAll('200') },
  consolePage: { request: () => ({ method: 'GET', url: '/console' }), answers: sameForAll('200') },
  consoleFile: {
    request: () => ({ method: 'GET', url: '/console/agents' }),
    answers: sameForAll('200'),
  },
  // The session cookie alone counts; an access token is ignored.
  signIn: {
    request: () => ({ method: 'POST', url: '/console/api/session', payload: {}, headers: fromPage }),
    answers: sameForAll('400 VALIDATION_ERROR'),
  },
  getSession: {
    request: ({ sessionCookie: cookie }) => ({
      method: 'GET',
      url: '/console/api/session',
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  signOut: {
    request: ({ sessionCookie: cookie }) => ({
      method: 'DELETE',
      url: '/console/api/session',
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('204'),
  },
  createCommandLineCode: {
    request: ({ sessionCookie: cookie }) => ({
      method: 'POST',
      url: '/console/api/command-line-codes',
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('201'),
  },
  createConsoleLink: {
    request: () => ({ method: 'POST', url: `${api}/console/links` }),
    // A session would outlast the trust policy.
    answers: {
      ...ofOwnOrganization('201'),
      ...withoutRole,
      workload: '403 FORBIDDEN',
      workloadAdmin: '403 FORBIDDEN',
    },
  },
  docsSlash: { request: () => ({ method: 'GET', url: '/docs/' }), answers: sameForAll('302') },
  docs: { request: () => ({ method: 'GET', url: '/docs' }), answers: sameForAll('200') },
  docsApi: { request: () => ({ method: 'GET', url: '/docs/api' }), answers: sameForAll('200') },
  docsFile: { request: () => ({ method: 'GET', url: '/docs/guides/webhooks' }), answers: sameForAll('200') },
  llmsIndex: { request: () => ({ method: 'GET', url: '/llms.txt' }), answers: sameForAll('200') },
  llmsFull: { request: () => ({ method: 'GET', url: '/llms-full.txt' }), answers: sameForAll('200') },
  docsScript: { request: () => ({ method: 'GET', url: '/docs/js/scalar.js' }), answers: sameForAll('200') },
  jwks: { request: () => ({ method: 'GET', url: '/.well-known/jwks.json' }), answers: sameForAll('200') },
  authorizationServer: {
    request: () => ({ method: 'GET', url: '/.well-known/oauth-authorization-server' }),
    answers: sameForAll('200'),
  },
  openidConfiguration: {
    request: () => ({ method: 'GET', url: '/.well-known/openid-configuration' }),
    answers: sameForAll('200'),
  },
  protectedResource: {
    request: () => ({ method: 'GET', url: '/.well-known/oauth-protected-resource' }),
    answers: sameForAll('200'),
  },
  protectedMcpServer: {
    request: () => ({ method: 'GET', url: '/.well-known/oauth-protected-resource/mcp' }),
    answers: sameForAll('200'),
  },
  mcp: {
    request: () => ({
      method: 'POST',
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream' },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    }),
    answers: ofOwnOrganization('200'),
  },
  // The credentials are in the body; the access token is ignored.
  issueToken: {
    request: () => ({ method: 'POST', url: `${api}/token` }),
    answers: sameForAll('400 unsupported_grant_type'),
  },

  // The credentials are in the body; the access token is ignored.
  requestApproval: {
    request: () => ({ method: 'POST', url: `${api}/bc-authorize`, form: { scope: 'agents:read' } }),
    answers: sameForAll('401 invalid_client'),
  },
  listApprovals: {
    request: () => ({ method: 'GET', url: `${api}/approvals` }),
    answers: ofAgents('200', '200'),
  },
  getApproval: {
    request: ({ approvalId }) => ({ method: 'GET', url: `${api}/approvals/${approvalId}` }),
    answers: { ...ofAgents('200', '404 APPROVAL_NOT_FOUND'), wrongScope: '404 APPROVAL_NOT_FOUND' },
  },
  cancelApproval: {
    request: ({ approvalId }) => ({ method: 'DELETE', url: `${api}/approvals/${approvalId}` }),
    answers: behindToken({
      wrongScope: '404 APPROVAL_NOT_FOUND',
      otherOrganization: '404 APPROVAL_NOT_FOUND',
      member: '404 APPROVAL_NOT_FOUND',
      admin: '204',
      operator: '204',
      delegated: '404 APPROVAL_NOT_FOUND',
      delegatedAdmin: '404 APPROVAL_NOT_FOUND',
      delegatedByOperator: '404 APPROVAL_NOT_FOUND',
    }),
  },
  // The session cookie alone counts; no access token decides.
  listOwnApprovals: {
    request: ({ personCookie: cookie }) => ({
      method: 'GET',
      url: '/console/api/me/approvals',
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  getOwnApproval: {
    request: ({ personCookie: cookie, approvalId }) => ({
      method: 'GET',
      url: `/console/api/me/approvals/${approvalId}`,
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  decideApproval: {
    request: ({ personCookie: cookie, approvalId }) => ({
      method: 'POST',
      url: `/console/api/me/approvals/${approvalId}`,
      payload: { decision: 'approve' },
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('200'),
  },

  // Any token with a scope for the resource of the address, here our own API.
  forwardAuth: {
    request: ({ issuer }) => ({
      method: 'GET',
      url: `${api}/forward-auth?resource=${encodeURIComponent(issuer)}`,
    }),
    answers: {
      ...behindToken({
        wrongScope: '403 INSUFFICIENT_SCOPE',
        otherOrganization: '200',
        member: '200',
        admin: '200',
        operator: '200',
        delegated: '200',
        delegatedAdmin: '200',
        delegatedByOperator: '200',
      }),
      suspendedOrganization: '401 UNAUTHORIZED',
      delegationRevoked: '401 UNAUTHORIZED',
    },
  },
  introspectToken: {
    request: ({ token }) => ({ method: 'POST', url: `${api}/token/introspect`, form: { token } }),
    answers: ofAgents('200', '200'),
  },
  revokeToken: {
    request: ({ token }) => ({ method: 'POST', url: `${api}/token/revoke`, form: { token } }),
    answers: behindToken({
      wrongScope: '403 FORBIDDEN',
      otherOrganization: '403 FORBIDDEN',
      member: '200',
      admin: '200',
      operator: '200',
      delegated: '200',
      delegatedAdmin: '200',
      delegatedByOperator: '403 FORBIDDEN',
    }),
  },

  previewToken: {
    request: ({ agentId }) => ({ method: 'POST', url: `${api}/tokens/preview`, payload: { agentId } }),
    answers: ofAgents('200'),
  },

  // Within an organization only: the operator's agent delegates to agents of its own organization.
  createDelegation: {
    request: ({ outsiderId }) => delegationTo(outsiderId),
    answers: behindToken({
      wrongScope: '403 DELEGATION_SCOPE_EXCEEDED',
      otherOrganization: '404 AGENT_NOT_FOUND',
      member: '201',
      admin: '201',
      operator: '404 AGENT_NOT_FOUND',
      // Their delegation does not allow further delegation.
      delegated: '403 FORBIDDEN',
      delegatedAdmin: '403 FORBIDDEN',
      delegatedByOperator: '404 AGENT_NOT_FOUND',
    }),
  },
  // Each principal sees its own.
  listDelegations: {
    request: () => ({ method: 'GET', url: `${api}/delegations` }),
    answers: ofOwnOrganization('200'),
  },
  getDelegation: {
    request: ({ chainId }) => ({ method: 'GET', url: `${api}/delegations/${chainId}` }),
    answers: behindToken({
      wrongScope: '404 DELEGATION_NOT_FOUND',
      otherOrganization: '404 DELEGATION_NOT_FOUND',
      member: '200',
      admin: '200',
      operator: '200',
      delegated: '200',
      delegatedAdmin: '200',
      delegatedByOperator: '404 DELEGATION_NOT_FOUND',
    }),
  },
  listDelegationDescendants: {
    request: ({ chainId }) => ({ method: 'GET', url: `${api}/delegations/${chainId}/descendants` }),
    answers: behindToken({
      wrongScope: '404 DELEGATION_NOT_FOUND',
      otherOrganization: '404 DELEGATION_NOT_FOUND',
      member: '200',
      admin: '200',
      operator: '200',
      delegated: '200',
      delegatedAdmin: '200',
      delegatedByOperator: '404 DELEGATION_NOT_FOUND',
    }),
  },
  verifyDelegation: {
    request: ({ delegationToken }) => ({
      method: 'POST',
      url: `${api}/delegations/verify`,
      payload: { token: delegationToken },
    }),
    answers: behindToken({
      wrongScope: '200',
      otherOrganization: '404 DELEGATION_NOT_FOUND',
      member: '200',
      admin: '200',
      operator: '200',
      delegated: '200',
      delegatedAdmin: '200',
      delegatedByOperator: '404 DELEGATION_NOT_FOUND',
    }),
  },
  revokeDelegation: {
    request: ({ chainId }) => ({ method: 'DELETE', url: `${api}/delegations/${chainId}` }),
    answers: behindToken({
      wrongScope: '403 FORBIDDEN',
      otherOrganization: '404 DELEGATION_NOT_FOUND',
      member: '403 FORBIDDEN',
      admin: '204',
      operator: '204',
      delegated: '403 FORBIDDEN',
      delegatedAdmin: '403 FORBIDDEN',
      delegatedByOperator: '404 DELEGATION_NOT_FOUND',
    }),
  },

  createAgent: {
    request: ({ organizationId }) => ({
      method: 'POST',
      url: `${api}/agents`,
      payload: newAgent({ organization_id: organizationId, allowedScopes: ['agents:read'] }),
    }),
    answers: ofLastingPower('201', '403 FORBIDDEN'),
  },
  listAgents: { request: () => ({ method: 'GET', url: `${api}/agents` }), answers: ofAgents('200', '200') },
  getAgent: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}` }),
    answers: ofAgents('200'),
  },
  updateAgent: {
    request: ({ agentId }) => ({
      method: 'PATCH',
      url: `${api}/agents/${agentId}`,
      payload: { owner: 'someone-else' },
    }),
    answers: ofAgents('200'),
  },
  decommissionAgent: {
    request: ({ agentId }) => ({ method: 'DELETE', url: `${api}/agents/${agentId}` }),
    answers: ofAgents('204'),
  },
  getAgentKeys: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}/keys` }),
    answers: ofAgents('200'),
  },
  putAgentKeys: {
    request: ({ agentId }) => ({
      method: 'PUT',
      url: `${api}/agents/${agentId}/keys`,
      payload: { keys: [] },
    }),
    answers: ofLastingPower('200'),
  },

  generateCredential: {
    request: ({ agentId }) => ({ method: 'POST', url: `${api}/agents/${agentId}/credentials` }),
    answers: ofLastingPower('201'),
  },
  listCredentials: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}/credentials` }),
    answers: ofAgents('200'),
  },
  rotateCredential: {
    request: ({ agentId, credentialId }) => ({
      method: 'POST',
      url: `${api}/agents/${agentId}/credentials/${credentialId}/rotate`,
    }),
    answers: ofLastingPower('200'),
  },
  revokeCredential: {
    request: ({ agentId, credentialId }) => ({
      method: 'DELETE',
      url: `${api}/agents/${agentId}/credentials/${credentialId}`,
    }),
    answers: ofAgents('204'),
  },

  createOrganization: {
    request: ({ agentId }) => ({
      method: 'POST',
      url: `${api}/organizations`,
      payload: { name: 'New', slug: `new-${agentId.slice(0, 13)}` },
    }),
    answers: operatorOnly('201'),
  },
  listOrganizations: {
    request: () => ({ method: 'GET', url: `${api}/organizations` }),
    answers: ofOrganizationAdmins('200', '200'),
  },
  getOrganization: {
    request: ({ organizationId }) => ({ method: 'GET', url: `${api}/organizations/${organizationId}` }),
    answers: ofOrganizationAdmins('200'),
  },
  updateOrganization: {
    request: ({ organizationId }) => ({
      method: 'PATCH',
      url: `${api}/organizations/${organizationId}`,
      payload: { name: 'Renamed' },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  deleteOrganization: {
    request: ({ organizationId }) => ({ method: 'DELETE', url: `${api}/organizations/${organizationId}` }),
    answers: operatorOnly('204'),
  },
  addMember: {
    request: ({ organizationId, outsiderId }) => ({
      method: 'POST',
      url: `${api}/organizations/${organizationId}/members`,
      payload: { agentId: outsiderId, role: 'member' },
    }),
    answers: ofOrganizationAdmins('201'),
  },
  listMembers: {
    request: ({ organizationId }) => ({
      method: 'GET',
      url: `${api}/organizations/${organizationId}/members`,
    }),
    answers: ofOrganizationAdmins('200'),
  },
  updateMember: {
    request: ({ organizationId, agentId }) => ({
      method: 'PATCH',
      url: `${api}/organizations/${organizationId}/members/${agentId}`,
      payload: { role: 'admin' },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  removeMember: {
    request: ({ organizationId, agentId }) => ({
      method: 'DELETE',
      url: `${api}/organizations/${organizationId}/members/${agentId}`,
    }),
    answers: ofOrganizationAdmins('204'),
  },
  invitePerson: {
    request: ({ organizationId, agentId }) => ({
      method: 'POST',
      url: `${api}/organizations/${organizationId}/people`,
      payload: {
        issuer: 'https://login.example.com',
        subject: randomUUID(),
        name: 'Ada',
        role: 'viewer',
        agentId,
      },
    }),
    answers: ofOrganizationAdmins('201'),
  },
  listPeople: {
    request: ({ organizationId }) => ({
      method: 'GET',
      url: `${api}/organizations/${organizationId}/people`,
    }),
    answers: ofOrganizationAdmins('200'),
  },
  updatePerson: {
    request: ({ organizationId, personId }) => ({
      method: 'PATCH',
      url: `${api}/organizations/${organizationId}/people/${personId}`,
      payload: { role: 'admin' },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  removePerson: {
    request: ({ organizationId, personId }) => ({
      method: 'DELETE',
      url: `${api}/organizations/${organizationId}/people/${personId}`,
    }),
    answers: ofOrganizationAdmins('204'),
  },
  createConnection: {
    request: ({ organizationId }) => ({
      method: 'POST',
      url: `${api}/organizations/${organizationId}/connections`,
      payload: {
        name: 'Login',
        issuer: 'https://login.example.com',
        clientId: randomUUID(),
        clientSecret: 'a secret',
      },
    }),
    answers: ofOrganizationAdmins('201'),
  },
  listConnections: {
    request: ({ organizationId }) => ({
      method: 'GET',
      url: `${api}/organizations/${organizationId}/connections`,
    }),
    answers: ofOrganizationAdmins('200'),
  },
  getConnection: {
    request: ({ organizationId, connectionId }) => ({
      method: 'GET',
      url: `${api}/organizations/${organizationId}/connections/${connectionId}`,
    }),
    answers: ofOrganizationAdmins('200'),
  },
  updateConnection: {
    request: ({ organizationId, connectionId }) => ({
      method: 'PATCH',
      url: `${api}/organizations/${organizationId}/connections/${connectionId}`,
      payload: { status: 'disabled' },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  deleteConnection: {
    request: ({ organizationId, connectionId }) => ({
      method: 'DELETE',
      url: `${api}/organizations/${organizationId}/connections/${connectionId}`,
    }),
    answers: ofOrganizationAdmins('204'),
  },

  // A Bearer token means nothing to these routes.
  authorize: {
    request: ({ requestClientId }) => ({
      method: 'GET',
      url: `${api}/authorize?client_id=${requestClientId}`,
    }),
    answers: sameForAll('302'),
  },
  authorizeByForm: {
    request: ({ requestClientId }) => ({
      method: 'POST',
      url: `${api}/authorize`,
      form: { client_id: requestClientId },
    }),
    answers: sameForAll('302'),
  },
  getAuthorizationRequest: {
    request: ({ requestId, personCookie: cookie }) => ({
      method: 'GET',
      url: `/console/api/authorization-requests/${requestId}`,
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  decideAuthorizationRequest: {
    request: ({ requestId, personCookie: cookie }) => ({
      method: 'POST',
      url: `/console/api/authorization-requests/${requestId}`,
      payload: { decision: 'approve' },
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('200'),
  },
  getAuthorizationSignIn: {
    request: ({ requestId, personCookie: cookie }) => ({
      method: 'GET',
      url: `/console/api/authorization-requests/${requestId}/sign-in`,
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  chooseAuthorizationOrganization: {
    request: ({ requestId, organizationId: organization, personCookie: cookie }) => ({
      method: 'POST',
      url: `/console/api/authorization-requests/${requestId}/sign-in`,
      payload: { organization },
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('200'),
  },
  startConnectionTest: {
    request: ({ connectionId, testerCookie: cookie }) => ({
      method: 'POST',
      url: '/console/api/connection-tests',
      payload: { connectionId },
      headers: { ...fromPage, cookie },
    }),
    answers: sameForAll('201'),
  },
  getConnectionTest: {
    request: ({ testerCookie: cookie }) => ({
      method: 'GET',
      url: '/console/api/connection-tests/latest',
      headers: { cookie },
    }),
    answers: sameForAll('200'),
  },
  signInOptions: {
    request: () => ({ method: 'GET', url: '/console/api/sign-in-options' }),
    answers: sameForAll('200'),
  },
  startProviderSignIn: {
    request: () => ({ method: 'GET', url: '/console/api/oidc/start' }),
    answers: sameForAll('302'),
  },
  finishProviderSignIn: {
    request: () => ({ method: 'GET', url: '/console/api/oidc/callback' }),
    answers: sameForAll('302'),
  },
  providerIdentity: {
    request: () => ({ method: 'GET', url: '/console/api/oidc/identity' }),
    answers: sameForAll('401 UNAUTHORIZED'),
  },
  chooseOrganization: {
    request: ({ personId }) => ({
      method: 'POST',
      url: '/console/api/oidc/identity',
      payload: { personId },
      headers: fromPage,
    }),
    answers: sameForAll('401 UNAUTHORIZED'),
  },

  declineInvitation: {
    request: ({ personId }) => ({
      method: 'DELETE',
      url: `/console/api/oidc/invitations/${personId}`,
      headers: fromPage,
    }),
    answers: sameForAll('401 UNAUTHORIZED'),
  },

  trustPartner: {
    request: ({ agentId }) => ({
      method: 'POST',
      url: `${api}/federation/trust`,
      payload: {
        name: 'Partner',
        issuer: `https://${agentId}.example`,
        jwksUri: `https://${agentId}.example/jwks`,
      },
    }),
    answers: operatorOnly('201'),
  },
  listPartners: {
    request: () => ({ method: 'GET', url: `${api}/federation/partners` }),
    answers: operatorOnly('200'),
  },
  getPartner: {
    request: ({ partnerId }) => ({ method: 'GET', url: `${api}/federation/partners/${partnerId}` }),
    answers: operatorOnly('200'),
  },
  updatePartner: {
    request: ({ partnerId }) => ({
      method: 'PATCH',
      url: `${api}/federation/partners/${partnerId}`,
      payload: { name: 'Renamed' },
    }),
    answers: operatorOnly('200'),
  },
  removePartner: {
    request: ({ partnerId }) => ({ method: 'DELETE', url: `${api}/federation/partners/${partnerId}` }),
    answers: operatorOnly('204'),
  },
  verifyPartnerToken: {
    request: ({ outsideToken }) => ({
      method: 'POST',
      url: `${api}/federation/verify`,
      payload: { token: outsideToken },
    }),
    answers: ofOwnOrganization('200'),
  },

  createTrustPolicy: {
    request: ({ agentId }) => ({
      method: 'POST',
      url: trustPolicies,
      payload: {
        agentId,
        name: 'Deployments',
        provider: 'github',
        audiences: ['https://id.example.com'],
        subject: 'repo:octo-org/app:ref:refs/heads/main',
        scopes: ['agents:read'],
      },
    }),
    answers: ofLastingPower('201'),
  },
  listTrustPolicies: {
    request: () => ({ method: 'GET', url: trustPolicies }),
    answers: ofAgents('200', '200'),
  },
  getTrustPolicy: {
    request: ({ policyId }) => ({ method: 'GET', url: `${trustPolicies}/${policyId}` }),
    answers: ofAgents('200', '404 TRUST_POLICY_NOT_FOUND'),
  },
  updateTrustPolicy: {
    request: ({ policyId }) => ({
      method: 'PATCH',
      url: `${trustPolicies}/${policyId}`,
      payload: { name: 'Renamed' },
    }),
    answers: ofLastingPower('200', '404 TRUST_POLICY_NOT_FOUND'),
  },
  deleteTrustPolicy: {
    request: ({ policyId }) => ({ method: 'DELETE', url: `${trustPolicies}/${policyId}` }),
    answers: ofAgents('204', '404 TRUST_POLICY_NOT_FOUND'),
  },
  testTrustPolicy: {
    request: ({ policyId, outsideToken }) => ({
      method: 'POST',
      url: `${trustPolicies}/${policyId}/test`,
      payload: { token: outsideToken },
    }),
    answers: ofAgents('200', '404 TRUST_POLICY_NOT_FOUND'),
  },
  // The exchanged token is in the body; the access token is ignored.
  exchangeOutsideToken: {
    request: () => ({ method: 'POST', url: `${api}/oidc/token` }),
    answers: sameForAll('400 invalid_request'),
  },
  issueIdToken: {
    request: () => ({
      method: 'POST',
      url: `${api}/oidc/id-token`,
      form: { audience: 'sts.amazonaws.com' },
    }),
    answers: { ...ofOwnOrganization('200'), ...withoutRole },
  },
  getTierStatus: {
    request: () => ({ method: 'GET', url: `${api}/tiers/status` }),
    answers: ofOwnOrganization('200'),
  },
  upgradeTier: {
    request: () => ({
      method: 'POST',
      url: `${api}/tiers/upgrade`,
      payload: { target_tier: 'enterprise' },
    }),
    // The target's organization pays already; the other organization has never ordered.
    answers: behindToken({
      wrongScope: '403 FORBIDDEN',
      otherOrganization: '200',
      member: '403 FORBIDDEN',
      admin: '200',
      operator: '400 TIER_UPGRADE_NOT_REQUIRED',
      ...withoutRole,
    }),
  },
  getUsage: {
    request: () => ({ method: 'GET', url: `${api}/usage` }),
    answers: ofOwnOrganization('200'),
  },
  listUsageByAgent: {
    request: () => ({ method: 'GET', url: `${api}/usage/agents` }),
    answers: ofOwnOrganization('200'),
  },
  getUsageLimits: {
    request: () => ({ method: 'GET', url: `${api}/usage/limits` }),
    answers: ofOwnOrganization('200'),
  },
  exportUsage: {
    request: () => ({ method: 'GET', url: `${api}/usage/export` }),
    answers: ofOwnOrganization('200'),
  },
  getTokenAnalytics: {
    request: () => ({ method: 'GET', url: `${api}/analytics/tokens` }),
    answers: ofOwnOrganization('200'),
  },
  getActivityAnalytics: {
    request: () => ({ method: 'GET', url: `${api}/analytics/agents/activity` }),
    answers: ofOwnOrganization('200'),
  },
  getAgentAnalytics: {
    request: () => ({ method: 'GET', url: `${api}/analytics/agents` }),
    answers: ofOwnOrganization('200'),
  },
  getOverview: {
    request: ({ organizationId }) => ({
      method: 'GET',
      url: `${api}/overview?organizationId=${organizationId}`,
    }),
    answers: ofAgents('200', '404 ORG_NOT_FOUND'),
  },
  getSubscription: {
    request: ({ organizationId }) => ({
      method: 'GET',
      url: `${api}/billing/subscription?organization_id=${organizationId}`,
    }),
    answers: ofAnyAgent('200'),
  },
  startCheckout: {
    request: ({ organizationId }) => ({
      method: 'POST',
      url: `${api}/billing/checkout`,
      payload: { target_tier: 'enterprise', organization_id: organizationId },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  openBillingPortal: {
    request: ({ organizationId }) => ({
      method: 'POST',
      url: `${api}/billing/portal`,
      payload: { organization_id: organizationId },
    }),
    answers: ofOrganizationAdmins('200'),
  },
  cancelSubscription: {
    // The payment event is about the subscription.
    request: ({ organizationId, paymentEvent: _ }) => ({
      method: 'DELETE',
      url: `${api}/billing/subscription?organization_id=${organizationId}`,
    }),
    answers: ofOrganizationAdmins('204'),
  },
  // The signature authenticates the sender.
  receiveBillingEvent: {
    request: ({ paymentEvent: { body, signature } }) => ({
      method: 'POST',
      url: `${api}/billing/webhooks/stripe`,
      payload: body,
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    }),
    answers: sameForAll('200'),
  },
  // The URL of a page is the secret that opens it.
  checkoutPage: {
    request: ({ checkoutToken }) => ({ method: 'GET', url: `/billing/checkout/${checkoutToken}` }),
    answers: sameForAll('200'),
  },
  confirmCheckout: {
    request: ({ checkoutToken }) => ({
      method: 'POST',
      url: `/billing/checkout/${checkoutToken}`,
      form: { confirm: 'yes' },
    }),
    answers: sameForAll('200'),
  },
  portalPage: {
    request: ({ portalToken }) => ({ method: 'GET', url: `/billing/portal/${portalToken}` }),
    answers: sameForAll('200'),
  },
  billingReturn: { request: () => ({ method: 'GET', url: '/billing/return' }), answers: sameForAll('200') },

  scaffoldAgent: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/sdk/scaffold/${agentId}?language=go` }),
    answers: behindToken({
      wrongScope: '200',
      otherOrganization: '403 FORBIDDEN',
      member: '200',
      admin: '200',
      operator: '200',
      delegated: '200',
      delegatedAdmin: '200',
      delegatedByOperator: '403 FORBIDDEN',
    }),
  },
  createWebhook: {
    request: () => ({
      method: 'POST',
      url: `${api}/webhooks`,
      payload: { name: 'Ours', url: 'https://receiver.example/hook', events: ['*'] },
    }),
    answers: ofWebhooks('201', '201'),
  },
  listWebhooks: {
    request: () => ({ method: 'GET', url: `${api}/webhooks` }),
    answers: ofWebhooks('200', '200'),
  },
  getWebhook: {
    request: ({ webhookId }) => ({ method: 'GET', url: `${api}/webhooks/${webhookId}` }),
    answers: ofWebhooks('200'),
  },
  updateWebhook: {
    request: ({ webhookId }) => ({
      method: 'PATCH',
      url: `${api}/webhooks/${webhookId}`,
      payload: { active: false },
    }),
    answers: ofWebhooks('200'),
  },
  deleteWebhook: {
    request: ({ webhookId }) => ({ method: 'DELETE', url: `${api}/webhooks/${webhookId}` }),
    answers: ofWebhooks('204'),
  },
  listWebhookDeliveries: {
    request: ({ webhookId }) => ({ method: 'GET', url: `${api}/webhooks/${webhookId}/deliveries` }),
    answers: ofWebhooks('200'),
  },
  countWebhookDeliveries: {
    request: ({ webhookId }) => ({ method: 'GET', url: `${api}/webhooks/${webhookId}/deliveries/counts` }),
    answers: ofWebhooks('200'),
  },
  getWebhookDelivery: {
    request: ({ webhookId, deliveryId }) => ({
      method: 'GET',
      url: `${api}/webhooks/${webhookId}/deliveries/${deliveryId}`,
    }),
    answers: ofWebhooks('200'),
  },
  rotateWebhookSecret: {
    request: ({ webhookId }) => ({ method: 'POST', url: `${api}/webhooks/${webhookId}/rotate-secret` }),
    answers: ofLastingPower('200', '404 WEBHOOK_NOT_FOUND'),
  },
  testWebhook: {
    request: ({ webhookId }) => ({ method: 'POST', url: `${api}/webhooks/${webhookId}/test` }),
    answers: ofWebhooks('202'),
  },
  replayWebhookDeliveries: {
    request: ({ webhookId }) => ({
      method: 'POST',
      url: `${api}/webhooks/${webhookId}/deliveries/replay`,
      payload: { since: new Date(Date.now() - 3_600_000).toISOString() },
    }),
    answers: ofWebhooks('202'),
  },
  replayWebhookDelivery: {
    request: ({ webhookId, deliveryId }) => ({
      method: 'POST',
      url: `${api}/webhooks/${webhookId}/deliveries/${deliveryId}/replay`,
    }),
    answers: ofWebhooks('202'),
  },
  ssfConfiguration: {
    request: () => ({ method: 'GET', url: '/.well-known/ssf-configuration' }),
    answers: sameForAll('200'),
  },
  logCheckpoint: {
    request: () => ({ method: 'GET', url: '/log/checkpoint' }),
    answers: sameForAll('404 LOG_NOT_FOUND'),
  },
  logKey: {
    request: () => ({ method: 'GET', url: '/log/key' }),
    answers: sameForAll('404 LOG_NOT_FOUND'),
  },
  logTile: {
    request: () => ({ method: 'GET', url: '/log/tile/0/000.p/1' }),
    answers: sameForAll('404 LOG_NOT_FOUND'),
  },
  createSignalStream: {
    request: () => ({
      method: 'POST',
      url: `${api}/ssf/stream`,
      payload: { delivery: { method: 'urn:ietf:rfc:8936' } },
    }),
    answers: ofAgents('201', '201'),
  },
  getSignalStream: {
    request: ({ streamId }) => ({ method: 'GET', url: `${api}/ssf/stream?stream_id=${streamId}` }),
    answers: ofSignals('200'),
  },
  updateSignalStream: {
    request: ({ streamId: stream_id }) => ({
      method: 'PATCH',
      url: `${api}/ssf/stream`,
      payload: { stream_id, description: 'Orders API' },
    }),
    answers: ofOwnSignals(),
  },
  replaceSignalStream: {
    request: ({ streamId: stream_id }) => ({
      method: 'PUT',
      url: `${api}/ssf/stream`,
      payload: { stream_id, delivery: { method: 'urn:ietf:rfc:8936' } },
    }),
    answers: ofOwnSignals(),
  },
  deleteSignalStream: {
    request: ({ streamId }) => ({ method: 'DELETE', url: `${api}/ssf/stream?stream_id=${streamId}` }),
    answers: ofSignals('204'),
  },
  getSignalStreamStatus: {
    request: ({ streamId }) => ({ method: 'GET', url: `${api}/ssf/status?stream_id=${streamId}` }),
    answers: ofSignals('200'),
  },
  setSignalStreamStatus: {
    request: ({ streamId: stream_id }) => ({
      method: 'POST',
      url: `${api}/ssf/status`,
      payload: { stream_id, status: 'paused' },
    }),
    answers: ofOwnSignals(),
  },
  verifySignalStream: {
    request: ({ streamId: stream_id }) => ({
      method: 'POST',
      url: `${api}/ssf/verify`,
      payload: { stream_id },
    }),
    answers: ofOwnSignals(),
  },
  addSignalSubject: {
    request: ({ streamId: stream_id }) => ({
      method: 'POST',
      url: `${api}/ssf/subjects/add`,
      payload: { stream_id, subject: { format: 'opaque', id: 'any' } },
    }),
    answers: ofOwnSignals(),
  },
  removeSignalSubject: {
    request: ({ streamId: stream_id }) => ({
      method: 'POST',
      url: `${api}/ssf/subjects/remove`,
      payload: { stream_id, subject: { format: 'opaque', id: 'any' } },
    }),
    answers: ofOwnSignals(),
  },
  pollSignals: {
    request: ({ streamId }) => ({
      method: 'POST',
      url: `${api}/ssf/poll/${streamId}`,
      payload: { returnImmediately: true },
    }),
    // Only for the agent that made the stream, which none of the principals is.
    answers: ofSignals('404 SIGNAL_STREAM_NOT_FOUND'),
  },

  listAuditEvents: {
    request: () => ({ method: 'GET', url: `${api}/audit` }),
    answers: ofAgents('200', '200'),
  },
  verifyAudit: {
    request: () => ({ method: 'GET', url: `${api}/audit/verify` }),
    answers: ofAgents('200', '200'),
  },
  listAuditCheckpoints: {
    request: () => ({ method: 'GET', url: `${api}/audit/checkpoints` }),
    answers: ofAgents('200', '200'),
  },
  getInstance: {
    request: () => ({ method: 'GET', url: `${api}/instance` }),
    answers: behindToken({
      wrongScope: '403 INSUFFICIENT_SCOPE',
      otherOrganization: '403 INSUFFICIENT_SCOPE',
      member: '403 INSUFFICIENT_SCOPE',
      admin: '403 INSUFFICIENT_SCOPE',
      operator: '200',
      delegated: '403 INSUFFICIENT_SCOPE',
      delegatedAdmin: '403 INSUFFICIENT_SCOPE',
      delegatedByOperator: '403 INSUFFICIENT_SCOPE',
    }),
  },
  getAuditChain: {
    request: () => ({ method: 'GET', url: `${api}/audit/chain` }),
    answers: ofAgents('200', '200'),
  },
  listAuditKeys: {
    request: () => ({ method: 'GET', url: `${api}/audit/keys` }),
    answers: ofAgents('200', '200'),
  },
  listAuditWitnesses: {
    request: () => ({ method: 'GET', url: `${api}/audit/witnesses` }),
    answers: ofAgents('200', '200'),
  },
  exportAudit: {
    request: () => ({ method: 'GET', url: `${api}/audit/export` }),
    answers: ofAgents('200', '200'),
  },
  listAuditArchives: {
    request: () => ({ method: 'GET', url: `${api}/audit/archives` }),
    answers: ofAgents('200', '200'),
  },
  getAuditArchive: {
    request: () => ({ method: 'GET', url: `${api}/audit/archives/2030-01-31` }),
    answers: ofAgents('404 ARCHIVE_NOT_FOUND', '404 ARCHIVE_NOT_FOUND'),
  },
  streamEvents: {
    request: () => ({ method: 'GET', url: `${api}/events`, stream: true }),
    answers: ofAgents('200', '200'),
  },
  getAuditEvent: {
    request: ({ eventId }) => ({ method: 'GET', url: `${api}/audit/${eventId}` }),
    answers: ofAgents('200', '404 AUDIT_EVENT_NOT_FOUND'),
  },

  instanceDid: {
    request: () => ({ method: 'GET', url: '/.well-known/did.json' }),
    answers: sameForAll('200'),
  },
  getDid: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}/did` }),
    answers: sameForAll('200'),
  },
  getDidAtRoot: {
    request: ({ agentId }) => ({ method: 'GET', url: `/agents/${agentId}/did.json` }),
    answers: sameForAll('200'),
  },
  resolveDid: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}/did/resolve` }),
    answers: { ...ofAgents('200'), wrongScope: '200' },
  },
  getAgentCard: {
    request: ({ agentId }) => ({ method: 'GET', url: `${api}/agents/${agentId}/did/card?format=badge` }),
    answers: sameForAll('200'),
  },
  getA2aCard: {
    request: ({ agentId }) => ({ method: 'GET', url: `/agents/${agentId}/.well-known/agent-card.json` }),
    answers: sameForAll('200'),
  },

  getControls: {
    request: () => ({ method: 'GET', url: `${api}/compliance/controls` }),
    answers: sameForAll('200'),
  },
  getComplianceReport: {
    request: () => ({ method: 'GET', url: `${api}/compliance/report` }),
    answers: { ...ofAgents('200', '200'), wrongScope: '200' },
  },
  exportAgentCards: {
    request: () => ({ method: 'GET', url: `${api}/compliance/agent-cards` }),
    answers: { ...ofAgents('200', '200'), wrongScope: '200' },
  },

  searchMarketplace: {
    request: () => ({ method: 'GET', url: `${api}/marketplace/agents?q=some` }),
    answers: sameForAll('200'),
  },
  getMarketplaceAgent: {
    request: ({ listingId }) => ({ method: 'GET', url: `${api}/marketplace/agents/${listingId}` }),
    answers: sameForAll('200'),
  },
  createListing: {
    request: ({ outsiderId }) => ({
      method: 'POST',
      url: `${api}/marketplace/listings`,
      payload: { agentId: outsiderId, title: 'Another', summary: 'One more.' },
    }),
    answers: ofLastingPower('201'),
  },
  listListings: {
    request: () => ({ method: 'GET', url: `${api}/marketplace/listings` }),
    answers: ofAgents('200', '200'),
  },
  getListing: {
    request: ({ listingId }) => ({ method: 'GET', url: `${api}/marketplace/listings/${listingId}` }),
    answers: ofAgents('200', '404 LISTING_NOT_FOUND'),
  },
  updateListing: {
    request: ({ listingId }) => ({
      method: 'PATCH',
      url: `${api}/marketplace/listings/${listingId}`,
      payload: { summary: 'Another summary.' },
    }),
    answers: ofLastingPower('200', '404 LISTING_NOT_FOUND'),
  },
  deleteListing: {
    request: ({ listingId }) => ({ method: 'DELETE', url: `${api}/marketplace/listings/${listingId}` }),
    answers: ofAgents('204', '404 LISTING_NOT_FOUND'),
  },

  createResource: {
    request: () => ({
      method: 'POST',
      url: `${api}/resources`,
      payload: {
        identifier: `https://${randomUUID()}.example`,
        name: 'Orders',
        scopes: [{ name: 'orders:read' }],
      },
    }),
    answers: ofResources('201'),
  },
  listResources: {
    request: () => ({ method: 'GET', url: `${api}/resources` }),
    answers: ofResources('200'),
  },
  getResource: {
    request: ({ resourceId }) => ({ method: 'GET', url: `${api}/resources/${resourceId}` }),
    answers: ofResources('200'),
  },
  updateResource: {
    request: ({ resourceId }) => ({
      method: 'PATCH',
      url: `${api}/resources/${resourceId}`,
      payload: { name: 'Other' },
    }),
    answers: ofResources('200'),
  },
  deleteResource: {
    request: ({ resourceId }) => ({ method: 'DELETE', url: `${api}/resources/${resourceId}` }),
    answers: ofResources('204'),
  },
  listResourceShares: {
    request: ({ resourceId }) => ({ method: 'GET', url: `${api}/resources/${resourceId}/shares` }),
    answers: ofResources('200'),
  },
  putResourceShare: {
    request: ({ resourceId, recipientId }) => ({
      method: 'PUT',
      url: `${api}/resources/${resourceId}/shares/${recipientId}`,
      payload: { scopes: ['orders:write'] },
    }),
    answers: ofResources('200'),
  },
  deleteResourceShare: {
    request: ({ resourceId, recipientId }) => ({
      method: 'DELETE',
      url: `${api}/resources/${resourceId}/shares/${recipientId}`,
    }),
    answers: ofResources('204'),
  },
  listReceivedShares: {
    request: () => ({ method: 'GET', url: `${api}/shares` }),
    answers: ofResources('200'),
  },
  acceptShare: {
    request: ({ resourceId }) => ({ method: 'POST', url: `${api}/shares/${resourceId}/accept` }),
    answers: ofReceivingAdmins('200'),
  },
  declineShare: {
    request: ({ resourceId }) => ({ method: 'DELETE', url: `${api}/shares/${resourceId}` }),
    answers: ofReceivingAdmins('204'),
  },
  verifyResource: {
    request: ({ resourceId }) => ({ method: 'POST', url: `${api}/resources/${resourceId}/verify` }),
    answers: ofResources('200'),
  },
  listResourceGrants: {
    request: ({ resourceId }) => ({ method: 'GET', url: `${api}/resources/${resourceId}/grants` }),
    answers: ofResources('200'),
  },
  listAgentGrants: {
    request: ({ granteeId }) => ({ method: 'GET', url: `${api}/agents/${granteeId}/grants` }),
    answers: ofAgents('200'),
  },
  getAgentAccess: {
    request: ({ granteeId }) => ({ method: 'GET', url: `${api}/agents/${granteeId}/access` }),
    answers: ofAgents('200'),
  },
  // Without resources:write and without a grant of its own, only an admin may grant, or take a grant away; a delegated token carries no
  // role.
  putAgentGrant: {
    request: ({ agentId, resourceId }) => ({
      method: 'PUT',
      url: `${api}/agents/${agentId}/grants/${resourceId}`,
      payload: { scopes: ['orders:read'] },
    }),
    answers: {
      ...ofLastingPower('200'),
      member: '403 FORBIDDEN',
      delegatedAdmin: '403 FORBIDDEN',
    },
  },
  deleteAgentGrant: {
    request: ({ granteeId, resourceId }) => ({
      method: 'DELETE',
      url: `${api}/agents/${granteeId}/grants/${resourceId}`,
    }),
    answers: {
      ...ofLastingPower('204'),
      member: '403 FORBIDDEN',
      delegatedAdmin: '403 FORBIDDEN',
    },
  },
};
