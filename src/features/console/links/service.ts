/** One-time links: a client that has a token opens the console in a browser, without typing a secret. */

import { limits } from '../../../contract/limits.ts';
import type { Caller } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Link } from '../schema.ts';
import type { Sessions } from '../sessions/service.ts';
import { insertLink, type StoredLink } from './store.ts';

export interface LinkService {
  /** A one-time link for a client, for `countersign dev`. Undefined when the secret is wrong or cookies would not be safe. */
  linkFor(clientId: string, clientSecret: string): Promise<Link | undefined>;
  create(caller: Caller): Promise<Link>;
}

/** Secret scanners search for this prefix. */
const codePrefix = 'csl_';

export function createLinkService(
  deps: Pick<ConsoleDeps, 'db' | 'clock' | 'ids' | 'settings' | 'findCredential' | 'findEligibility'>,
  { requireSafeCookies, cookieProblem }: Pick<Sessions, 'requireSafeCookies' | 'cookieProblem'>,
): LinkService {
  const { db, clock, ids, settings, findCredential, findEligibility } = deps;

  const store = async (link: StoredLink): Promise<Link> => {
    const code = ids.secret(codePrefix);
    const expiresAt = new Date(clock.now() + limits.console.linkSeconds * 1_000);
    await insertLink(db, hashSecret(code), link, expiresAt);
    // A browser sends no fragment to a server, so the code is in no log.
    return { url: `${settings.baseUrl}/console#code=${code}`, code, expiresAt: expiresAt.toISOString() };
  };

  return {
    create({ agentId, organizationId, tokenId, credentialId = null, keyId = null, trustPolicyId, scopes }) {
      requireSafeCookies();
      // A session would otherwise prolong itself, and outlive the trust policy.
      if (tokenId === undefined || trustPolicyId !== undefined)
        fail('FORBIDDEN', {
          message:
            'A link to the console needs an access token that the agent got with its own secret or key, not by a trust policy and not through the console.',
        });
      return store({ agentId, organizationId, credentialId, keyId, scopes: [...scopes] });
    },

    async linkFor(agentId, clientSecret) {
      if (cookieProblem !== undefined) return undefined;
      const credentialId = await findCredential(db, agentId, clientSecret);
      const owner = await findEligibility(db, agentId);
      if (credentialId === undefined || !owner) return undefined;
      const { organizationId, scopes } = owner;
      return store({ agentId, organizationId, credentialId, keyId: null, scopes });
    },
  };
}
