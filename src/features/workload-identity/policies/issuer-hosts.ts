/** Recognises the provider of an issuer by its host. Self-hosted issuers (GitLab, Kubernetes, SPIFFE) are not recognised. */

import { type Provider, providers } from '../schema.ts';
import { defaultIssuer } from './presets.ts';

/** Providers with one issuer for all their customers. */
const sharedHosts: ReadonlyMap<string, Provider> = new Map(
  providers.flatMap((provider) => {
    const issuer = defaultIssuer(provider);
    return issuer === undefined ? [] : [[new URL(issuer).host, provider] as const];
  }),
);

/** Providers with an issuer for each tenant, account or cluster. */
const tenantHosts: readonly (readonly [RegExp, readonly Provider[]])[] = [
  [/^token\.actions\.[a-z0-9-]+\.ghe\.com$/, ['github']],
  [/^login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)$/, ['azure']],
  [/^sts\.(?:windows\.net|chinacloudapi\.cn)$/, ['azure']],
  [/\.tokens\.sts\.global\.api\.aws$/, ['aws']],
  // EKS clusters issue Kubernetes tokens. Not all of amazonaws.com: Cognito's user pools are there too.
  [/^oidc\.eks\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/, ['kubernetes', 'aws']],
  [/^oidc-eks\.[a-z0-9-]+\.api\.aws$/, ['kubernetes', 'aws']],
  [/\.oic\.prod-aks\.azure\.com$/, ['kubernetes']],
  [/^container\.googleapis\.com$/, ['kubernetes']],
];

/** The providers that a policy for this issuer may name; undefined when it is not recognised. */
export function providersOf(issuer: string): readonly Provider[] | undefined {
  const { host } = new URL(issuer);
  const shared = sharedHosts.get(host);
  return shared ? [shared] : tenantHosts.find(([pattern]) => pattern.test(host))?.[1];
}

/** Whether all customers of a provider share this issuer. No policy may name other keys for it. */
export const isShared = (issuer: string): boolean => sharedHosts.has(new URL(issuer).host);
