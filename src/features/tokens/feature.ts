/**
 * Tokens: turns a client's proof into a signed access token, tells the guard whom a token speaks for, answers questions
 * about tokens and ends them. Owns `token_revocations` and `used_assertions`. Its store also reads across agents, organizations and credentials,
 * because the hot path answers "who is this, and may they" in one query.
 */

import type { TokenDeps, Tokens } from './deps.ts';
import { createInspector } from './inspect.ts';
import { createLiveTokens } from './live.ts';
import { createExpiryLoop } from './loops.ts';
import { createMinter } from './mint.ts';
import { tokenRoutes } from './routes.ts';
import { createTokenService } from './service.ts';

export { createStandings } from './standing.ts';

export function createTokens(deps: TokenDeps): Tokens {
  const inspector = createInspector(deps);
  const minter = createMinter(deps);
  return {
    routes: tokenRoutes(
      createTokenService(deps, minter),
      createLiveTokens(deps, inspector.inspect),
      deps.grants,
    ),
    loops: [createExpiryLoop(deps)],
    mint: minter.mint,
    ...inspector,
    lockEligibility: minter.lockEligibility,
    findEligibility: minter.findEligibility,
  };
}
