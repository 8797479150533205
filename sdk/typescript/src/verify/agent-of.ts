/** The agent of a request, for handlers behind `requireToken`. */
import type { VerifiedToken } from './access-token.ts';

/** Throws on a route without `requireToken`, before which no token was verified. */
export function agentOf({ agent }: { readonly agent?: VerifiedToken | undefined }): VerifiedToken {
  if (agent === undefined)
    throw new Error('the request has no verified token: add requireToken to its route');
  return agent;
}
