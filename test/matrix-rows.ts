/**
 * Every operation of the API against everyone who may knock. A route without a row fails the test; a feature adds its
 * rows here. An answer is the status, and the code when it is a refusal.
 */
import { newAgent } from './harness.ts';

/** What a cell may touch: made anew for each, in the organization that member and admin belong to. */
export interface Target {
  readonly organizationId: string;
  readonly agentId: string;
  readonly credentialId: string;
  /** Its secret. */
  readonly clientSecret: string;
  /** An access token of that agent. */
  readonly token: string;
  /** An agent of the same organization that is no member yet. */
  readonly outsiderId: string;
  /** An event of that agent. */
  readonly eventId: string;
  /** A webhook subscription of that organization, and a delivery of it. */
  readonly webhookId: string;
  readonly deliveryId: string;
}

export const principals = [
  'nobody',
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
] as const;
export type Principal = (typeof principals)[number];

/** What is sent, by whoever sends it. */
export interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly payload?: object;
  readonly form?: Record<string, string>;
}

export interface Row {
  readonly request: (target: Target) => Sent;
  readonly answers: Readonly<Record<Principal, string>>;
}

/** Open to all: nobody's token matters. */
const everyone = (answer: string) =>
  Object.fromEntries(principals.map((who) => [who, answer])) as Row['answers'];

/** Behind a token: the first rows are the same everywhere. */
const behindToken = (
  answers: Record<'wrongScope' | 'otherOrganization' | 'member' | 'admin' | 'operator', string>,
): Row['answers'] => ({
  nobody: '401 UNAUTHORIZED',
  garbage: '401 UNAUTHORIZED',
  expired: '401 UNAUTHORIZED',
  revoked: '401 UNAUTHORIZED',
  suspendedOrganization: '403 ORG_SUSPENDED',
  decommissioned: '401 UNAUTHORIZED',
  ...answers,
});

/** An agent's own resource: whoever has the scope, in its own organization; elsewhere there is no such agent. */
const ofAgents = (success: string, foreign = '404 AGENT_NOT_FOUND') =>
  behindToken({
    wrongScope: '403 INSUFFICIENT_SCOPE',
    otherOrganization: foreign,
    member: success,
    admin: success,
    operator: success,
  });

/** By scope or as an admin, at home. */
const ofWebhooks = (success: string, foreign = '404 WEBHOOK_NOT_FOUND') => ofAgents(success, foreign);

const operatorOnly = (success: string) =>
  behindToken({
    wrongScope: '403 FORBIDDEN',
    otherOrganization: '403 FORBIDDEN',
    member: '403 FORBIDDEN',
    admin: '403 FORBIDDEN',
    operator: success,
  });

const ofOrganizationAdmins = (success: string, foreign = '404 ORG_NOT_FOUND') =>
  behindToken({
    wrongScope: '403 FORBIDDEN',
    otherOrganization: foreign,
    member: '403 FORBIDDEN',
    admin: success,
    operator: success,
  });

const api = '/api/v1';

export const validTokenRequest = ({ agentId, clientSecret }: Target): Sent => ({
  method: 'POST',
  url: `${api}/token`,
  form: { grant_type: 'client_credentials', client_id: agentId, client_secret: clientSecret },
});

/** Routes whose method could change something, but which do not; each with the reason. */
export const changesNothing: Readonly<Record<string, string>> = {
  introspectToken: 'answers a question about a token; POST keeps the token out of addresses',
};

/** A request that succeeds when the operator makes it; where the matrix shows a refusal, another one. */
export const succeeding = (id: string): Row['request'] | undefined =>
  id === 'issueToken' ? validTokenRequest : rows[id]?.request;

export const rows: Readonly<Record<string, Row>> = {
  health: { request: () => ({ method: 'GET', url: '/health' }), answers: everyone('200') },
  metrics: { request: () => ({ method: 'GET', url: '/metrics' }), answers: everyone('200') },
  openapi: { request: () => ({ method: 'GET', url: '/openapi.json' }), answers: everyone('200') },
  docs: { request: () => ({ method: 'GET', url: '/docs' }), answers: everyone('200') },
  docsScript: { request: () => ({ method: 'GET', url: '/docs/js/scalar.js' }), answers: everyone('200') },
  jwks: { request: () => ({ method: 'GET', url: '/.well-known/jwks.json' }), answers: everyone('200') },
  authorizationServer: {
    request: () => ({ method: 'GET', url: '/.well-known/oauth-authorization-server' }),
    answers: everyone('200'),
  },
  openidConfiguration: {
    request: () => ({ method: 'GET', url: '/.well-known/openid-configuration' }),
    answers: everyone('200'),
  },
  protectedResource: {
    request: () => ({ method: 'GET', url: '/.well-known/oauth-protected-resource' }),
    answers: everyone('200'),
  },
  // Its credentials are in the body; a token beside them changes nothing.
  issueToken: {
    request: () => ({ method: 'POST', url: `${api}/token` }),
    answers: everyone('400 unsupported_grant_type'),
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
    }),
  },

  createAgent: {
    request: ({ organizationId }) => ({
      method: 'POST',
      url: `${api}/agents`,
      payload: newAgent({ organization_id: organizationId, allowedScopes: ['agents:read'] }),
    }),
    answers: ofAgents('201', '403 FORBIDDEN'),
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
    answers: ofAgents('200'),
  },

  generateCredential: {
    request: ({ agentId }) => ({ method: 'POST', url: `${api}/agents/${agentId}/credentials` }),
    answers: ofAgents('201'),
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
    answers: ofAgents('200'),
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
  rotateWebhookSecret: {
    request: ({ webhookId }) => ({ method: 'POST', url: `${api}/webhooks/${webhookId}/rotate-secret` }),
    answers: ofWebhooks('200'),
  },
  testWebhook: {
    request: ({ webhookId }) => ({ method: 'POST', url: `${api}/webhooks/${webhookId}/test` }),
    answers: ofWebhooks('202'),
  },
  replayWebhookDelivery: {
    request: ({ webhookId, deliveryId }) => ({
      method: 'POST',
      url: `${api}/webhooks/${webhookId}/deliveries/${deliveryId}/replay`,
    }),
    answers: ofWebhooks('202'),
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
  getAuditEvent: {
    request: ({ eventId }) => ({ method: 'GET', url: `${api}/audit/${eventId}` }),
    answers: ofAgents('200', '404 AUDIT_EVENT_NOT_FOUND'),
  },
};
