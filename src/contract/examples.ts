/**
 * Example values by field name, for the OpenAPI document. The examples tell one story: an agent of one organization. A field with
 * another meaning than its name has here carries `examples` in its own schema.
 */

/** A time in examples. */
export const exampleTime = '2030-01-31T12:00:00.000Z';

const agent = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const otherAgent = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const organization = '550e8400-e29b-41d4-a716-446655440000';
const chain = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
/** Stands for any signed token: a real one would be long, and would expire. */
const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI3YzllNjY3OSJ9.c2lnbmF0dXJl';
const issuer = 'https://idp.example.com';

const examplePublicKey = {
  kty: 'EC',
  kid: 'key-1',
  use: 'sig',
  alg: 'ES256',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

export const fieldExamples: Readonly<Record<string, unknown>> = {
  // Ids.
  id: 'a3bb189e-8bf9-4888-9912-ace4e6543002',
  agentId: agent,
  clientId: agent,
  client_id: agent,
  actorId: otherAgent,
  organizationId: organization,
  organization_id: organization,
  orgId: organization,
  tenantId: organization,
  credentialId: 'b5a1c2d3-1f2e-4a3b-8c4d-5e6f7a8b9c0d',
  credential_id: 'b5a1c2d3-1f2e-4a3b-8c4d-5e6f7a8b9c0d',
  memberId: 'c6b2d3e4-2a3f-4b4c-9d5e-6f7a8b9c0d1e',
  personId: '3dc9eafb-9ba0-4cbd-8ecf-3a4b5c6d7e8f',
  eventId: 'd7c3e4f5-3b4a-4c5d-8e6f-7a8b9c0d1e2f',
  policyId: 'e8d4f5a6-4c5b-4d6e-9f7a-8b9c0d1e2f3a',
  listingId: 'f9e5a6b7-5d6c-4e7f-8a8b-9c0d1e2f3a4b',
  deliveryId: '0af6b7c8-6e7d-4f8a-9b9c-0d1e2f3a4b5c',
  subscription_id: 'a3bb189e-8bf9-4888-9912-ace4e6543002',
  resourceId: '1ba7c8d9-7f8e-4a9b-8cad-1e2f3a4b5c6d',
  chainId: chain,
  chain_id: chain,
  rootChainId: chain,
  parentChainId: null,
  subjectId: agent,
  delegatorId: agent,
  delegateeId: otherAgent,
  grantedBy: agent,
  sub: agent,
  jti: '2cb8d9ea-8a9f-4bac-9dbe-2f3a4b5c6d7e',

  // Agents and organizations.
  email: 'screener-1@talent.example.com',
  version: '1.4.0',
  capabilities: ['resume:read', 'resume:score'],
  capability: 'resume:read',
  owner: 'talent-team',
  displayName: 'Resume screener',
  labels: { team: 'talent', 'cost-center': '4711' },
  label: ['team:talent'],
  allowedScopes: ['agents:read', 'audit:read'],
  name: 'Talent',
  slug: 'talent',
  organizationName: 'Talent',
  organizationSlug: 'talent',
  ownerName: 'Payments',
  ownerSlug: 'payments',
  maxAgents: 25,
  maxTokensPerMonth: 10_000,

  agentType: 'screener',
  deploymentEnv: 'production',

  // Tokens.
  access_token: token,
  id_token: token,
  token,
  delegationToken: token,
  parentToken: token,
  subject_token: token,
  subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  clientSecret: 'cs_9TpG2b7nQx4LrW1kZv8sYd3mHf6jCa5e',
  client_secret: 'cs_9TpG2b7nQx4LrW1kZv8sYd3mHf6jCa5e',
  expires_in: 3_600,
  scope: 'agents:read audit:read',
  scopes: ['agents:read'],
  offeredScopes: ['orders:refund'],
  aud: 'https://api.talent.example.com',
  iss: issuer,
  act: { sub: otherAgent },
  iat: 1_896_091_200,
  exp: 1_896_094_800,
  audience: 'https://api.talent.example.com',
  audiences: ['https://api.talent.example.com'],
  identifier: 'https://api.talent.example.com',
  resource: 'https://api.talent.example.com',
  purpose: 'Score the resumes of this week',
  depth: 1,

  keys: [examplePublicKey],
  publicKeyJwk: { kty: 'EC', kid: 'key-1', crv: 'P-256', x: examplePublicKey.x, y: examplePublicKey.y },

  // Other issuers.
  issuer,
  jwksUri: 'https://idp.example.com/.well-known/jwks.json',
  subject: 'repo:talent/screener:ref:refs/heads/main',
  claim: 'repository_owner',
  values: ['talent'],
  maxTokenAgeSeconds: 600,
  expected: 'https://api.talent.example.com',
  actual: 'https://api.talent.example.com',

  // Audit and events.
  action: 'agent.created',
  event_type: 'agent.created',
  events: ['agent.created'],
  metadata: { agentType: 'screener' },
  payload: {
    id: 'd7c3e4f5-3b4a-4c5d-8e6f-7a8b9c0d1e2f',
    type: 'agent.created',
    organizationId: organization,
    timestamp: exampleTime,
    data: { agentId: agent },
  },
  claims: { iss: issuer, sub: 'repo:talent/screener:ref:refs/heads/main' },
  ipAddress: '203.0.113.7',
  userAgent: 'curl/8.5.0',
  checkedCount: 128,
  number: 12,
  size: 128,
  headHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  keyId: '8yVpAj2nCqmFhR0nqk1gVn6kFZJtq2xX9dDqvX0m3lE',
  signed: token,
  verified: true,

  // Webhooks.
  url: 'https://hooks.talent.example.com/countersign',
  signingSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  http_status_code: 200,
  attempt_count: 1,
  duration_ms: 84,
  failure_count: 0,
  offset: 0,
  error: null,

  // Figures.
  total: 1,
  count: 42,
  tokenCount: 42,
  quantity: 42,
  date: '2030-01-31',
  from: '2030-01-01',
  to: '2030-01-31',
  month: '2030-01',
  dow: 4,
  hour: 12,
  used: 42,
  remaining: 958,
  agentCount: 3,
  verifiedAgentCount: 3,
  callsToday: 42,
  tokensToday: 42,
  maxCallsPerDay: 1_000,
  maxTokensPerDay: 1_000,
  oldestUnlinkedSeconds: 0.4,

  // Billing.
  checkoutUrl: 'https://id.talent.example.com/billing/checkout/b7Qx4LrW1kZv8sYd',
  portalUrl: 'https://id.talent.example.com/billing/portal/b7Qx4LrW1kZv8sYd',
  sessionId: 'b7Qx4LrW1kZv8sYd',

  // Identity documents and listings.
  did: `did:web:id.talent.example.com:agents:${agent}`,
  controller: `did:web:id.talent.example.com:agents:${agent}`,
  cardUrl: `https://id.talent.example.com/api/v1/agents/${agent}/did/card`,
  identityProvider: 'https://id.talent.example.com',
  contentType: 'application/did+ld+json',
  '@context': ['https://www.w3.org/ns/did/v1'],
  authentication: [`did:web:id.talent.example.com:agents:${agent}#key-1`],
  assertionMethod: [`did:web:id.talent.example.com:agents:${agent}#key-1`],
  serviceEndpoint: `https://id.talent.example.com/api/v1/agents/${agent}/did/card`,
  protocolBinding: 'JSONRPC',
  protocolVersion: '1.0',
  organization: 'Talent',
  uri: 'https://id.talent.example.com/extensions/identity',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  protected: 'eyJhbGciOiJSUzI1NiJ9',
  signature: 'c2lnbmF0dXJl',
  protocol: 'a2a',
  model: 'free',
  title: 'Resume screener',
  summary: 'Scores resumes against a job description.',
  description: 'Reads a resume and scores it.',
  categories: ['recruiting'],
  tags: ['resume'],
  documentationUrl: 'https://docs.talent.example.com/screener',
};
