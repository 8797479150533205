/** Without client_id the policies of several organizations may fit one token: the share of the work that each can have. */
import type { TrustPolicy } from '../schema.ts';

/**
 * The key sets that policies name, each once: the first of every organization, then the second of every one, and so on. So an
 * organization that names many uses up its own share and no other's.
 */
export function sourcesInTurns<P extends Pick<TrustPolicy, 'organizationId' | 'jwksUri'>>(
  policies: readonly P[],
  { each, all }: { each: number; all: number },
): P[] {
  const byOrganization = Map.groupBy(policies, ({ organizationId }) => organizationId);
  const shares = [...byOrganization.values()].map((own) =>
    [...new Map(own.map((policy) => [policy.jwksUri, policy])).values()].slice(0, each),
  );
  const sources = new Map<string | null, P>();
  for (let turn = 0; turn < each; turn += 1) {
    for (const share of shares) {
      const source = share[turn];
      if (source && sources.size < all) sources.set(source.jwksUri, source);
    }
  }
  return [...sources.values()];
}
