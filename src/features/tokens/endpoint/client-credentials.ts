/** The grant `client_credentials` (RFC 6749 §4.4): a token of the client's own. */
import { isScope, scopes } from '../../../contract/scopes.ts';
import { failToken, TokenError } from '../../../kernel/fail.ts';
import type { BatchedGrant } from '../grant.ts';

export const clientCredentials = (issuer: string): BatchedGrant => ({
  grantType: 'client_credentials',
  fields: {},
  errorCodes: {
    malformed: 'unsupported_grant_type',
    missingClient: 'unsupported_grant_type',
    invalidResource: 'unsupported_grant_type',
  },
  transaction: 'shared',
  authorize({ client, form, audience = issuer }) {
    if (form.authorization_details)
      failToken('invalid_authorization_details', 'no details were approved for a token of its own');
    const named = (form.scope ?? '').split(' ').filter(Boolean);
    if (audience === issuer) requireOwnScopes(named, client.scopes);
    return named.length === 0 ? { scopes: 'all', audience } : { scopes: named, exact: true, audience };
  },
});

/** The spec's own word for a scope that the agent may not hold. */
function requireOwnScopes(named: readonly string[], allowed: readonly string[]): void {
  if (named.every((word) => isScope(word) && allowed.includes(word))) return;
  const holdable = scopes.filter((scope) => allowed.includes(scope));
  const description = `invalid scope: this agent may hold ${holdable.join(' ') || 'none'}`;
  throw new TokenError('unsupported_grant_type', description, 'scope not allowed');
}
