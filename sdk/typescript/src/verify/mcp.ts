/** A token as the MCP SDK has it: `clientId` is the agent that calls, `extra` has `subject`, `actors` and the other facts of a VerifiedToken. */
import {
  InsufficientScopeError,
  InvalidTokenError,
  ServerError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { TokenError } from '../errors.ts';
import type { VerifiedToken } from './access-token.ts';

export function authInfoOf(token: string, verified: VerifiedToken, audience: string): AuthInfo {
  const { agentId, scopes, ...extra } = verified;
  const expiresAt = extra.claims.exp as number;
  return { token, clientId: agentId, scopes: [...scopes], expiresAt, resource: new URL(audience), extra };
}

/** The MCP SDK chooses the status by the class: 401, 403, or 500 while the token cannot be checked. */
export function mcpErrorOf({ code, message }: TokenError): Error {
  const description = message.replaceAll('"', "'");
  if (code === 'temporarily_unavailable') return new ServerError(description);
  return code === 'insufficient_scope' || code === 'insufficient_authorization_details'
    ? new InsufficientScopeError(description)
    : new InvalidTokenError(description);
}
