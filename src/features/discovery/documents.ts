import { mcpScopes, scopes } from '../../contract/scopes.ts';
import { mcpAddressOf } from '../../kernel/audience.ts';
import type { DiscoveryDeps } from './feature.ts';

const supportedScopes = [...scopes];
const clientMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];

/** RFC 8414. */
export const authorizationServer = ({
  issuer,
  assertionAlgorithms,
  proofAlgorithms,
  grantTypes,
  signer,
}: DiscoveryDeps) => ({
  issuer,
  token_endpoint: `${issuer}/api/v1/token`,
  introspection_endpoint: `${issuer}/api/v1/token/introspect`,
  revocation_endpoint: `${issuer}/api/v1/token/revoke`,
  authorization_endpoint: `${issuer}/api/v1/authorize`,
  backchannel_authentication_endpoint: `${issuer}/api/v1/bc-authorize`,
  backchannel_token_delivery_modes_supported: ['poll', 'ping'],
  backchannel_user_code_parameter_supported: false,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  scopes_supported: supportedScopes,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  grant_types_supported: ['client_credentials', ...grantTypes],
  authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  // By token exchange, for partners: the same draft, section 7.1.
  identity_chaining_requested_token_types_supported: ['urn:ietf:params:oauth:token-type:id-jag'],
  token_endpoint_auth_methods_supported: [...clientMethods, 'spiffe_jwt', 'none'],
  introspection_endpoint_auth_methods_supported: [...clientMethods, 'Bearer'],
  introspection_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
  revocation_endpoint_auth_methods_supported: [...clientMethods, 'none', 'Bearer'],
  revocation_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
  token_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
  dpop_signing_alg_values_supported: [...proofAlgorithms],
  // Of the published keys, the current one first. Access tokens are signed with the same keys.
  id_token_signing_alg_values_supported: [...new Set(signer.publicKeys().map(({ alg }) => alg))],
  service_documentation: `${issuer}/docs`,
});

/** OpenID Connect Discovery: for libraries that read no other document, and for clouds that verify our ID tokens. */
export const openidConfiguration = (deps: DiscoveryDeps) => ({
  ...authorizationServer(deps),
  claims_supported: ['iss', 'sub', 'aud', 'iat', 'exp', 'jti', 'organization_id', 'trust_policy_id'],
  subject_types_supported: ['public'],
});

/** RFC 9728: this API as a protected resource. */
export const protectedResource = ({ issuer, proofAlgorithms }: DiscoveryDeps) => ({
  resource: issuer,
  authorization_servers: [issuer],
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  scopes_supported: supportedScopes,
  bearer_methods_supported: ['header'],
  dpop_signing_alg_values_supported: [...proofAlgorithms],
  dpop_bound_access_tokens_required: false,
  resource_name: 'Countersign',
  resource_documentation: `${issuer}/docs`,
});

/** Our MCP server, whose clients compare `resource` with the address that they know. It takes the tokens of our API. */
export const protectedMcpServer = (deps: DiscoveryDeps) => ({
  ...protectedResource(deps),
  resource: mcpAddressOf(deps.issuer),
  scopes_supported: [...mcpScopes],
  resource_name: 'Countersign MCP server',
});
