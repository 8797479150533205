/** Which policy a token comes in by: looked up by what it says, believed by who signed it. */
import type { OutsideTokenReason } from '../../contract/outside.ts';
import { isUuid } from '../../kernel/ids.ts';
import { audiencesOf, isRefused, type Unverified, type Verified } from '../../kernel/outside.ts';
import type { OidcDeps } from './feature.ts';
import { headsOf } from './keys.ts';
import { checksOf, failing } from './match.ts';
import type { TrustPolicy } from './schema.ts';
import { findPoliciesByHead, findPoliciesOfAgent } from './store.ts';

/** More for one token is a muddle, and a way to make us work. */
const maxPolicies = 100;
const maxSources = 5;

export interface Chosen {
  readonly policy: TrustPolicy;
  readonly verified: Verified;
}

/** Why nobody comes in; of whom it was asked, as far as that is known. */
export interface Unmatched {
  readonly problem: string;
  readonly reason?: OutsideTokenReason;
  readonly policy?: TrustPolicy | undefined;
}

export function createChoose({ db, clock, outside }: OidcDeps) {
  const find = (token: Unverified, agentId: string | undefined): Promise<TrustPolicy[]> => {
    const { issuer, claims } = token;
    if (agentId === undefined) {
      const audiences = audiencesOf(claims);
      return findPoliciesByHead(db, issuer, { heads: headsOf(token), audiences }, maxPolicies + 1);
    }
    if (!isUuid(agentId)) return Promise.resolve([]);
    return findPoliciesOfAgent(db, issuer, agentId, maxPolicies + 1);
  };

  /** Each source of keys is asked once, however many policies name it. */
  const verifyBySource = async (token: Unverified, policies: readonly TrustPolicy[]) => {
    const sources = new Map(policies.map((policy) => [policy.jwksUri, policy]));
    if (sources.size > maxSources) return undefined;
    const verdicts = await Promise.all(
      [...sources].map(async ([jwksUri, policy]) => [jwksUri, await outside.verify(token, policy)] as const),
    );
    return new Map(verdicts);
  };

  return async (
    token: Unverified,
    { agentId, scopes }: { agentId: string | undefined; scopes: readonly string[] },
  ): Promise<Chosen | Unmatched> => {
    const policies = await find(token, agentId);
    if (policies.length > maxPolicies)
      return { problem: 'too many trust policies: name the agent with client_id' };
    const matching = policies.filter(
      (policy) => failing(checksOf(policy, token.claims, clock.now())).length === 0,
    );
    if (matching.length === 0) return explain(policies, token, clock.now());
    const verdicts = await verifyBySource(token, matching);
    if (!verdicts) return { problem: 'too many key sets for one issuer: name the agent with client_id' };
    const accepted = matching.flatMap((policy): Chosen[] => {
      const verified = verdicts.get(policy.jwksUri);
      return verified && !isRefused(verified) ? [{ policy, verified }] : [];
    });
    const [first] = accepted;
    if (!first) {
      const [verdict] = verdicts.values();
      const reason = verdict && isRefused(verdict) ? verdict.reason : 'bad_signature';
      return { problem: reason, reason, policy: matching[0] };
    }
    if (accepted.some(({ policy }) => policy.agentId !== first.policy.agentId))
      return { problem: 'the token fits policies of several agents: name one with client_id' };
    // Of several for one agent the oldest that gives what is asked.
    return accepted.find(({ policy }) => scopes.every((scope) => policy.scopes.includes(scope))) ?? first;
  };
}

/** The log of whoever was meant says what was amiss; when several might be meant, nobody is told about the others. */
function explain(policies: readonly TrustPolicy[], token: Unverified, now: number): Unmatched {
  const [nearest] = policies
    .map((policy) => ({ policy, amiss: failing(checksOf(policy, token.claims, now)) }))
    .sort((a, b) => a.amiss.length - b.amiss.length);
  if (!nearest) return { problem: 'no trust policy for this token' };
  const names = nearest.amiss.map(({ name }) => name).join(', ');
  const organizations = new Set(policies.map(({ organizationId }) => organizationId));
  return {
    problem: `no trust policy matches: ${names}`,
    policy: organizations.size === 1 ? nearest.policy : undefined,
  };
}
