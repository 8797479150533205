/**
 * The policy by which a token is admitted: looked up by its claims, trusted by its signature. Where no agent is named, the
 * policies of every organization are looked at. Each organization has a share of the work, and a token that fits policies of two
 * organizations is refused, so that neither keeps out or captures the workloads of the other.
 */
import { isUuid } from '../../../kernel/ids.ts';
import {
  audiencesOf,
  isRefused,
  type UnverifiedToken,
  type VerifiedToken,
} from '../../../kernel/ports/external-tokens.ts';
import type { OidcDeps } from '../deps.ts';
import { headsOf } from '../policies/lookup-keys.ts';
import { checksOf, failing } from '../policies/match.ts';
import { findPoliciesByHead, findPoliciesOfAgent, type InTurn } from '../policies/store.ts';
import type { TrustPolicy } from '../schema.ts';
import { sourcesInTurns } from './round-robin.ts';

/** For one token, of each organization and of all: more is a muddle, and a way to make us work. */
const maxPolicies = { each: 100, all: 1_000 };
const maxSources = { each: 5, all: 25 };

const tooManyPolicies = 'too many trust policies: name the agent with client_id';
const tooManySources = 'too many key sets for one issuer: name the agent with client_id';
const severalAgents = 'the token fits policies of several agents: name one with client_id';

export interface Chosen {
  readonly policy: TrustPolicy;
  readonly verified: VerifiedToken;
}

/** Why the token is not admitted. */
export interface Unmatched {
  readonly problem: string;
  /**
   * The policy concerned, in whose organization's log the refusal is recorded. Absent unless that organization is known to be
   * meant: its agent is named, or its policies alone fit a token with a good signature.
   */
  readonly policy?: TrustPolicy;
  /** What the client is told, where that is more than the uniform answer. */
  readonly advice?: string;
}

interface Judged {
  readonly policy: TrustPolicy;
  /** The names of the checks that fail. */
  readonly amiss: readonly string[];
}

export function createChoose({ db, clock, outside }: OidcDeps) {
  /** One more of each than count, to see that there are more. */
  const find = (token: UnverifiedToken, agentId: string | undefined): Promise<InTurn[]> => {
    const { issuer, claims } = token;
    const each = maxPolicies.each + 1;
    if (agentId === undefined) {
      const asked = { heads: headsOf(token), audiences: audiencesOf(claims) };
      return findPoliciesByHead(db, issuer, asked, { each, all: maxPolicies.all });
    }
    return isUuid(agentId) ? findPoliciesOfAgent(db, issuer, agentId, each) : Promise.resolve([]);
  };

  /** Each source of keys is asked once, however many policies name it. */
  const verifyBySource = async (token: UnverifiedToken, policies: readonly TrustPolicy[]) =>
    new Map(
      await Promise.all(
        sourcesInTurns(policies, maxSources).map(
          async (source) => [source.jwksUri, await outside.verify(token, source)] as const,
        ),
      ),
    );

  return async (
    token: UnverifiedToken,
    { agentId, scopes }: { agentId: string | undefined; scopes: readonly string[] },
  ): Promise<Chosen | Unmatched> => {
    const found = await find(token, agentId);
    const policies = found.filter(({ turn }) => turn <= maxPolicies.each);
    const judged = policies.map((policy) => ({
      policy,
      amiss: failing(checksOf(policy, token.claims, clock.now())).map(({ name }) => name),
    }));
    const isNamed = agentId !== undefined;
    const fitting = judged.filter(({ amiss }) => amiss.length === 0);
    if (fitting.length === 0) {
      const isCut = policies.length < found.length || found.length >= maxPolicies.all;
      return explain(judged, isCut, isNamed);
    }
    const rivals = isNamed ? fitting : judged.filter(isAboutCaller);
    const verdicts = await verifyBySource(
      token,
      rivals.map(({ policy }) => policy),
    );
    const accepted = rivals.flatMap(({ policy, amiss }) => {
      const verified = verdicts.get(policy.jwksUri);
      return verified && !isRefused(verified) ? [{ policy, amiss, verified }] : [];
    });
    const organizations = new Set(accepted.map(({ policy }) => policy.organizationId));
    if (organizations.size > 1) return { problem: severalAgents, advice: severalAgents };
    const open = accepted.filter(({ amiss }) => amiss.length === 0);
    const [first] = open;
    if (!first) return explainVerdicts(fitting, verdicts, isNamed);
    if (open.some(({ policy }) => policy.agentId !== first.policy.agentId))
      return { problem: severalAgents, advice: severalAgents, policy: first.policy };
    // Of several for one agent the oldest that gives what is asked.
    return open.find(({ policy }) => scopes.every((scope) => policy.scopes.includes(scope))) ?? first;
  };
}

/**
 * Whether the policy is about this caller, though it may not admit the token now. A disabled or stricter one of another
 * organization counts as well: otherwise a second policy would get the caller as soon as the first turns it away.
 */
const isAboutCaller = ({ amiss }: Judged): boolean =>
  amiss.every((name) => name === 'status' || name === 'age');

function explain(judged: readonly Judged[], isCut: boolean, isNamed: boolean): Unmatched {
  const [nearest] = judged.toSorted((a, b) => a.amiss.length - b.amiss.length);
  if (!nearest) return { problem: 'no trust policy for this token' };
  const problem = isCut ? tooManyPolicies : `no trust policy matches: ${nearest.amiss.join(', ')}`;
  return { problem, ...(isNamed && { policy: nearest.policy }) };
}

function explainVerdicts(
  fitting: readonly Judged[],
  verdicts: ReadonlyMap<string | null, object>,
  isNamed: boolean,
): Unmatched {
  const problems = fitting.map(({ policy }) => {
    const verdict = verdicts.get(policy.jwksUri);
    return { policy, problem: verdict && isRefused(verdict) ? verdict.reason : tooManySources };
  });
  // First the problem that an organization can solve itself.
  const told = problems.find(({ problem }) => problem === tooManySources) ?? problems[0];
  return { problem: told?.problem ?? 'bad_signature', ...(isNamed && told && { policy: told.policy }) };
}
