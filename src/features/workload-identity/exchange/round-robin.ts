/** Fair order of key sources. Without client_id, policies of several organizations may match one token. */
import type { TrustPolicy } from '../schema.ts';

/** The same for policies whose keys are the same: with `jwksUri: null` the issuer says where its keys are. A JWT-SVID may name no issuer. */
export const keySourceOf = ({ issuer, jwksUri }: Pick<TrustPolicy, 'issuer' | 'jwksUri'>): string =>
  JSON.stringify([issuer, jwksUri]);

/**
 * The key sets that policies name, each once, in round-robin order: the first of every organization, then the second of every
 * organization, and so on. An organization that names many uses up its own share only.
 */
export function roundRobinKeySources<P extends Pick<TrustPolicy, 'organizationId' | 'issuer' | 'jwksUri'>>(
  policies: readonly P[],
  { perOrganization, total }: { perOrganization: number; total: number },
): P[] {
  const byOrganization = Map.groupBy(policies, ({ organizationId }) => organizationId);
  const shares = [...byOrganization.values()].map((own) =>
    [...new Map(own.map((policy) => [keySourceOf(policy), policy])).values()].slice(0, perOrganization),
  );
  const sources = new Map<string, P>();
  for (let round = 0; round < perOrganization; round += 1) {
    for (const share of shares) {
      const source = share[round];
      if (source && sources.size < total) sources.set(keySourceOf(source), source);
    }
  }
  return [...sources.values()];
}
