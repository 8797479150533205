/** Parses the form of an exchange (RFC 8693 §2.1), before any lookup. */
import type { TokenErrorCode } from '../../../contract/errors.ts';
import { audienceOf } from '../../../kernel/audience.ts';
import { failToken } from '../../../kernel/fail.ts';
import type { ExternalClientAssertion } from '../../tokens/grant.ts';
import { ExchangeRequest } from './schema.ts';

/** The OAuth error codes of one endpoint: RFC 8693's for an exchange, RFC 6749's for a client assertion. */
export interface RefusalCodes {
  /** The token is refused. */
  readonly token: TokenErrorCode;
  /** The agent can get no token now. */
  readonly agent: TokenErrorCode;
  readonly scope: TokenErrorCode;
}

export const exchangeRefusalCodes: RefusalCodes = {
  token: 'invalid_grant',
  agent: 'invalid_grant',
  scope: 'invalid_scope',
};

/** For a client assertion at the token endpoint: the spec's codes for `client_credentials`. */
export const clientRefusalCodes: RefusalCodes = {
  token: 'invalid_client',
  agent: 'unauthorized_client',
  scope: 'unsupported_grant_type',
};

/** For a client assertion with another grant. */
export const grantRefusalCodes: RefusalCodes = { ...clientRefusalCodes, scope: 'invalid_scope' };

/** For a client assertion at the backchannel authentication endpoint, where no proof of a suspended agent is accepted. */
export const backchannelRefusalCodes: RefusalCodes = { ...grantRefusalCodes, agent: 'invalid_client' };

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const subjectTypes = [tokenType('jwt'), tokenType('id_token')];

export function parseExchange(
  form: ExchangeRequest,
  query: object,
  issuer: string,
): Pick<ExternalClientAssertion, 'token' | 'agentId' | 'scope'> & { readonly audience: string } {
  for (const name of Object.keys(ExchangeRequest.properties))
    if (name in query) failToken('invalid_request', `${name} belongs in the body, not in the address`);
  if (form.grant_type !== grantType) failToken('unsupported_grant_type', `grant_type must be ${grantType}`);
  if (!form.subject_token) failToken('invalid_request', 'subject_token is required');
  if (!subjectTypes.includes(form.subject_token_type ?? ''))
    failToken('invalid_request', `subject_token_type must be ${subjectTypes.join(' or ')}`);
  if (form.actor_token !== undefined)
    failToken(
      'invalid_request',
      'actor_token is not read here; delegations are redeemed at the token endpoint',
    );
  if (form.requested_token_type !== undefined && form.requested_token_type !== tokenType('access_token'))
    failToken('invalid_request', `requested_token_type must be ${tokenType('access_token')}`);
  const audience = !form.resource
    ? issuer
    : (audienceOf(form.resource, issuer) ??
      failToken('invalid_target', 'resource must be an absolute http(s) URI without a fragment'));
  if (form.audience !== undefined && form.audience !== audience)
    failToken('invalid_target', 'name the target by resource; audience may only repeat it');
  return { token: form.subject_token, agentId: form.client_id, scope: form.scope, audience };
}
