/** Many organizations and one token: what each of them can have of the work, and which of them is told what came of it. */
import { isGlob } from './glob.ts';
import type { TrustPolicy } from './schema.ts';

/** An organization's own policy, and what was amiss with the token for that. */
export interface Told {
  readonly policy: TrustPolicy;
  readonly problem: string;
}

/** Anybody can bring a token that is not signed, and have it written down so often. */
const maxTold = 5;

/**
 * The key sets that policies name, each once: the first of every organization, then the second of every one, and so on. So
 * whoever names many uses up their own share and no other's.
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

/** The first of every organization. */
export function oneOfEach(found: readonly Told[]): Told[] {
  const first = new Map<string, Told>();
  for (const one of found)
    if (!first.has(one.policy.organizationId)) first.set(one.policy.organizationId, one);
  return [...first.values()];
}

/** Whoever names the subject exactly comes before those who name it by a pattern, so that these keep it from nobody. */
export const whomToTell = (found: readonly Told[]): Told[] =>
  oneOfEach(found.toSorted((a, b) => vagueness(a) - vagueness(b))).slice(0, maxTold);

const vagueness = ({ policy: { subject } }: Told): number => (subject === null ? 2 : isGlob(subject) ? 1 : 0);
