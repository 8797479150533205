/** An outside token for an access token of ours: in the agent's own name, or whatever another grant gives to the agent. */
import { failToken } from '../../../kernel/fail.ts';
import { isRefused } from '../../../kernel/ports/external-tokens.ts';
import type { ExternalClientAssertion, IssuedToken } from '../../../kernel/ports/grant.ts';
import type { OidcDeps } from '../deps.ts';
import { type Admit, createAdmission, type RefusalWords, scopesIn } from './admission.ts';

export interface Exchange {
  /** Whether an assertion is somebody else's word rather than the client's own: its issuer has an address, and is not its subject. */
  isOutside(assertion: string): boolean;
  redeem(proof: ExternalClientAssertion, audience: string, words: RefusalWords): Promise<IssuedToken>;
  readonly admit: Admit;
}

export function createExchange(deps: OidcDeps): Exchange {
  const { outside, mint, countExchange } = deps;
  const admit = createAdmission(deps);

  return {
    admit,

    redeem: (proof, audience, words) =>
      admit(proof, words, async (tx, client) => {
        const { agentId, scopes, vouched: metadata = {} } = client;
        const wanted = scopesIn(proof.scope);
        const { origin } = proof;
        const asked = wanted.length > 0 ? wanted : scopes;
        const issued = await mint(tx, { origin, agentId, scopes: asked, audience, metadata });
        if (wanted.length > 0 && scopesIn(issued.scope).length < new Set(wanted).size)
          failToken(words.scope, `invalid scope: this agent may hold ${issued.scope || 'none of these'}`);
        tx.afterCommit(() => countExchange(client));
        return issued;
      }),

    isOutside(assertion) {
      const token = outside.read(assertion);
      return !isRefused(token) && /^https?:\/\//i.test(token.issuer) && token.issuer !== token.claims.sub;
    },
  };
}
