/**
 * Which policy a token comes in by: looked up by what it says, believed by who signed it. Where no agent is named, the
 * policies of every organization are looked at, and nobody may keep another's workloads out with theirs: each organization
 * has a share of the work, and only what fits and is signed counts against what else does.
 */
import { isUuid } from '../../kernel/ids.ts';
import { audiencesOf, isRefused, type Unverified, type Verified } from '../../kernel/outside.ts';
import type { OidcDeps } from './feature.ts';
import { headsOf } from './keys.ts';
import { checksOf, failing } from './match.ts';
import type { TrustPolicy } from './schema.ts';
import { findPoliciesByHead, findPoliciesOfAgent, type InTurn } from './store.ts';
import { oneOfEach, sourcesInTurns, type Told, whomToTell } from './turns.ts';

/** For one token, of each organization and of all: more is a muddle, and a way to make us work. */
const maxPolicies = { each: 100, all: 1_000 };
const maxSources = { each: 5, all: 25 };

const tooManyPolicies = 'too many trust policies: name the agent with client_id';
const tooManySources = 'too many key sets for one issuer: name the agent with client_id';
const severalAgents = 'the token fits policies of several agents: name one with client_id';

export interface Chosen {
  readonly policy: TrustPolicy;
  readonly verified: Verified;
}

/** Why nobody comes in, and in whose log that is to be read; nobody's when nobody is known to be meant. */
export interface Unmatched {
  readonly problem: string;
  readonly told: readonly Told[];
  /** What the client is told, where that is more than what everybody is. */
  readonly advice?: string;
}

export function createChoose({ db, clock, outside }: OidcDeps) {
  /** One more of each than count, to see that there are more. */
  const find = (token: Unverified, agentId: string | undefined): Promise<InTurn[]> => {
    const { issuer, claims } = token;
    const each = maxPolicies.each + 1;
    if (agentId === undefined) {
      const asked = { heads: headsOf(token), audiences: audiencesOf(claims) };
      return findPoliciesByHead(db, issuer, asked, { each, all: maxPolicies.all });
    }
    return isUuid(agentId) ? findPoliciesOfAgent(db, issuer, agentId, each) : Promise.resolve([]);
  };

  /** Each source of keys is asked once, however many policies name it. */
  const verifyBySource = async (token: Unverified, policies: readonly TrustPolicy[]) =>
    new Map(
      await Promise.all(
        sourcesInTurns(policies, maxSources).map(
          async (source) => [source.jwksUri, await outside.verify(token, source)] as const,
        ),
      ),
    );

  return async (
    token: Unverified,
    { agentId, scopes }: { agentId: string | undefined; scopes: readonly string[] },
  ): Promise<Chosen | Unmatched> => {
    const found = await find(token, agentId);
    const policies = found.filter(({ turn }) => turn <= maxPolicies.each);
    const judged = policies.map((policy) => ({
      policy,
      amiss: failing(checksOf(policy, token.claims, clock.now())).map(({ name }) => name),
    }));
    const matching = judged.flatMap(({ policy, amiss }) => (amiss.length === 0 ? [policy] : []));
    if (matching.length === 0) {
      const isCut = policies.length < found.length || found.length >= maxPolicies.all;
      return explain(judged, isCut ? tooManyPolicies : undefined);
    }
    const verdicts = await verifyBySource(token, matching);
    const accepted = matching.flatMap((policy): Chosen[] => {
      const verified = verdicts.get(policy.jwksUri);
      return verified && !isRefused(verified) ? [{ policy, verified }] : [];
    });
    const [first] = accepted;
    if (!first) return explainVerdicts(matching, verdicts);
    if (accepted.some(({ policy }) => policy.agentId !== first.policy.agentId)) {
      const told = oneOfEach(accepted.map(({ policy }) => ({ policy, problem: severalAgents })));
      return { problem: severalAgents, advice: severalAgents, told };
    }
    // Of several for one agent the oldest that gives what is asked.
    return accepted.find(({ policy }) => scopes.every((scope) => policy.scopes.includes(scope))) ?? first;
  };
}

interface Judged {
  readonly policy: TrustPolicy;
  readonly amiss: readonly string[];
}

/**
 * The logs of those who were meant say what was amiss with their own policy. Whose policy is for somebody else learns
 * nothing of this one, unless there is nobody else who could be meant.
 */
function explain(judged: readonly Judged[], isCut: string | undefined): Unmatched {
  const nearest = judged
    .toSorted((a, b) => a.amiss.length - b.amiss.length)
    .map(({ policy, amiss }) => ({
      policy,
      amiss,
      problem: isCut ?? `no trust policy matches: ${amiss.join(', ')}`,
    }));
  const [first] = nearest;
  if (!first) return { problem: 'no trust policy for this token', told: [] };
  const organizations = new Set(judged.map(({ policy }) => policy.organizationId));
  const meant = organizations.size === 1 ? [first] : nearest.filter(isMeant);
  return { problem: first.problem, told: whomToTell(meant) };
}

const isMeant = ({ policy, amiss }: Judged): boolean =>
  !amiss.some((name) => name === 'subject' || (policy.subject === null && name.startsWith('condition ')));

function explainVerdicts(
  matching: readonly TrustPolicy[],
  verdicts: ReadonlyMap<string | null, object>,
): Unmatched {
  const all = matching.map((policy): Told => {
    const verdict = verdicts.get(policy.jwksUri);
    return { policy, problem: verdict && isRefused(verdict) ? verdict.reason : tooManySources };
  });
  // First what an organization can mend itself.
  const problems = [
    ...all.filter(({ problem }) => problem === tooManySources),
    ...all.filter(({ problem }) => problem !== tooManySources),
  ];
  return { problem: problems[0]?.problem ?? 'bad_signature', told: whomToTell(problems) };
}
