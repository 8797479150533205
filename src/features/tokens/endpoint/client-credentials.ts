/** The grant `client_credentials` (RFC 6749 §4.4): a token of the client's own. */
import { isScope, scopes } from '../../../contract/scopes.ts';
import { TokenError } from '../../../kernel/fail.ts';
import type { BatchedGrant } from '../../../kernel/ports/grant.ts';

export const clientCredentials = (issuer: string): BatchedGrant => ({
  grantType: 'client_credentials',
  fields: {},
  errorCodes: {
    malformed: 'unsupported_grant_type',
    missingClient: 'unsupported_grant_type',
    invalidResource: 'unsupported_grant_type',
  },
  transaction: 'shared',
  authorize: ({ client, form, audience = issuer }) => ({
    scopes: requestedScopes(form.scope, client.scopes),
    audience,
  }),
});

/** All scopes of the agent when the form names none. */
function requestedScopes(requested: string | undefined, allowed: readonly string[]): readonly string[] {
  const words = (requested ?? '').split(' ').filter(Boolean);
  if (words.length === 0) return allowed;
  if (words.every((word) => isScope(word) && allowed.includes(word))) return words;
  const holdable = scopes.filter((scope) => allowed.includes(scope));
  const description = `invalid scope: this agent may hold ${holdable.join(' ') || 'none'}`;
  throw new TokenError('unsupported_grant_type', description, 'scope not allowed');
}
