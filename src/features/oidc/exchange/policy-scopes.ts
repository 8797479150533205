/** The scopes that a trust policy gives for an audience. */
import type { TrustPolicy } from '../schema.ts';

interface ScopesOfPolicy extends Pick<TrustPolicy, 'scopes'> {
  readonly resources?: readonly { readonly identifier: string; readonly scopes: readonly string[] }[];
}

/** Those of the named resource; otherwise those of our own API, which no registered resource has. */
export const policyScopes = (
  { scopes, resources }: ScopesOfPolicy,
  audience: string | undefined,
): readonly string[] => resources?.find(({ identifier }) => identifier === audience)?.scopes ?? scopes;
