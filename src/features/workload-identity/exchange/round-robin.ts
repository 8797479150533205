/** Fair order of key sources. Without client_id, policies of several organizations may match one token. */
import type { TrustPolicy } from '../schema.ts';

/**
 * The key sets that policies name, each once, in round-robin order: the first of every organization, then the second of every
 * organization, and so on. An organization that names many uses up its own share only.
 */
export function roundRobinKeySources<P extends Pick<TrustPolicy, 'organizationId' | 'jwksUri'>>(
  policies: readonly P[],
  { perOrganization, total }: { perOrganization: number; total: number },
): P[] {
  const byOrganization = Map.groupBy(policies, ({ organizationId }) => organizationId);
  const shares = [...byOrganization.values()].map((own) =>
    [...new Map(own.map((policy) => [policy.jwksUri, policy])).values()].slice(0, perOrganization),
  );
  const sources = new Map<string | null, P>();
  for (let round = 0; round < perOrganization; round += 1) {
    for (const share of shares) {
      const source = share[round];
      if (source && sources.size < total) sources.set(source.jwksUri, source);
    }
  }
  return [...sources.values()];
}
