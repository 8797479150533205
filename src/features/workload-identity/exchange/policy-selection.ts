/**
 * Selects the policy that admits a token: looked up by the token's claims, trusted by its signature. Without a named agent, the
 * policies of every organization are candidates. Each organization has a fair share of the work, and a token that matches
 * policies of two organizations is refused: no organization can block or capture the workloads of another.
 */

import { failedChecks } from '../../../kernel/conditions/match.ts';
import { isUuid } from '../../../kernel/ids.ts';
import {
  isRefused,
  type UnverifiedToken,
  type VerifiedToken,
} from '../../../kernel/ports/external-tokens.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import { subjectPrefixesOf } from '../policies/lookup-keys.ts';
import { audiencesNamed, checksOf } from '../policies/match.ts';
import { entryOf } from '../policies/resource-entries.ts';
import type { TrustPolicy } from '../schema.ts';
import { keySourceOf, roundRobinKeySources } from './round-robin.ts';
import { findPoliciesByPrefix, findPoliciesOfAgent, findSpiffeIssuers, type RankedPolicy } from './store.ts';

/** Limits for one token, per organization and in total. They bound the work that one request can cause. */
const maxPolicies = { perOrganization: 100, total: 1_000 };
const maxKeySources = { perOrganization: 5, total: 25 };

const tooManyPolicies = 'too many trust policies: name the agent with client_id';
const tooManySources = 'too many key sets for one issuer: name the agent with client_id';
const severalAgents = 'the token fits policies of several agents: name one with client_id';

interface PolicyRequest {
  readonly agentId: string | undefined;
  /** Of a JWT-SVID: only policies for SPIFFE. */
  readonly svid: boolean;
  readonly scopes: readonly string[];
  /** Undefined when another grant decides about it. */
  readonly audience: string | undefined;
}

export interface SelectedPolicy {
  readonly policy: RankedPolicy;
  readonly verified: VerifiedToken;
}

interface SelectionFailure {
  /** Why the token is not admitted; for the audit log. */
  readonly problem: string;
  /**
   * Names the audit recipient: the refusal is recorded in the log of this policy's organization. Absent unless that organization
   * is known: its agent is named, or only its policies match a token with a valid signature.
   */
  readonly policy?: TrustPolicy;
  /** For the client, instead of the uniform answer. */
  readonly publicMessage?: string;
}

interface EvaluatedPolicy {
  readonly policy: TrustPolicy;
  /** Names of checks. */
  readonly failed: readonly string[];
}

export function createPolicySelection({
  db,
  clock,
  externalTokens,
  issuer: ownIssuer,
}: WorkloadIdentityDeps) {
  /** Reads one more per organization than the limit, to see whether the limit is exceeded. */
  const findCandidates = async (
    token: UnverifiedToken,
    agentId: string | undefined,
  ): Promise<RankedPolicy[]> => {
    const perOrganization = maxPolicies.perOrganization + 1;
    if (agentId !== undefined)
      return isUuid(agentId)
        ? findPoliciesOfAgent(db, token.issuer || undefined, agentId, perOrganization)
        : [];
    const prefixes = subjectPrefixesOf(token);
    const audiences = audiencesNamed(token.claims, ownIssuer);
    const issuers = token.issuer
      ? [token.issuer]
      : await findSpiffeIssuers(db, prefixes, maxKeySources.total);
    const found: RankedPolicy[] = [];
    for (const issuer of issuers) {
      const total = maxPolicies.total - found.length;
      const filter = { prefixes, audiences };
      found.push(...(await findPoliciesByPrefix(db, issuer, filter, { perOrganization, total })));
    }
    return found;
  };

  /** Verifies with each key source once, however many policies name it. */
  const verifyBySource = async (token: UnverifiedToken, policies: readonly TrustPolicy[]) =>
    new Map(
      await Promise.all(
        roundRobinKeySources(policies, maxKeySources).map(
          async (source) => [keySourceOf(source), await externalTokens.verify(token, source)] as const,
        ),
      ),
    );

  return async (
    token: UnverifiedToken,
    { agentId, svid, scopes, audience }: PolicyRequest,
  ): Promise<SelectedPolicy | SelectionFailure> => {
    const found = await findCandidates(token, agentId);
    const candidates = svid ? found.filter(({ provider }) => provider === 'spiffe') : found;
    const policies = candidates.filter(({ rank }) => rank <= maxPolicies.perOrganization);
    const evaluated = policies.map((policy) => ({
      policy,
      failed: failedChecks(checksOf(policy, token.claims, clock.now(), ownIssuer)).map(({ name }) => name),
    }));
    const isAgentNamed = agentId !== undefined;
    const matching = evaluated.filter(({ failed }) => failed.length === 0);
    if (matching.length === 0) {
      const isTruncated = policies.length < candidates.length || candidates.length >= maxPolicies.total;
      return noMatch(evaluated, isTruncated, isAgentNamed);
    }
    const competing = isAgentNamed ? matching : evaluated.filter(identifiesCaller);
    const verdicts = await verifyBySource(
      token,
      competing.map(({ policy }) => policy),
    );
    const accepted = competing.flatMap(({ policy, failed }) => {
      const verified = verdicts.get(keySourceOf(policy));
      return verified && !isRefused(verified) ? [{ policy, failed, verified }] : [];
    });
    const organizations = new Set(accepted.map(({ policy }) => policy.organizationId));
    if (organizations.size > 1) return { problem: severalAgents, publicMessage: severalAgents };
    const admitting = accepted.filter(({ failed }) => failed.length === 0);
    const [oldest] = admitting;
    if (!oldest) return noValidSignature(matching, verdicts, isAgentNamed);
    if (admitting.some(({ policy }) => policy.agentId !== oldest.policy.agentId))
      return { problem: severalAgents, publicMessage: severalAgents, policy: oldest.policy };
    // Several policies of one agent: the oldest that gives the requested scopes, first of those that name the resource.
    const naming = admitting.filter(({ policy }) => entryOf(policy, audience));
    const gives = ({ policy }: SelectedPolicy) => {
      const given = entryOf(policy, audience)?.scopes ?? policy.scopes;
      return scopes.every((scope) => given.includes(scope));
    };
    return naming.find(gives) ?? naming[0] ?? admitting.find(gives) ?? oldest;
  };
}

/**
 * Whether the policy identifies this caller, even if it does not admit the token now. A disabled or stricter policy of another
 * organization competes as well: otherwise a second policy would capture the caller when the first stops admitting it.
 */
const identifiesCaller = ({ failed }: EvaluatedPolicy): boolean =>
  failed.every((name) => name === 'status' || name === 'age');

function noMatch(
  evaluated: readonly EvaluatedPolicy[],
  isTruncated: boolean,
  isAgentNamed: boolean,
): SelectionFailure {
  const [nearest] = evaluated.toSorted((a, b) => a.failed.length - b.failed.length);
  if (!nearest) return { problem: 'no trust policy for this token' };
  const problem = isTruncated ? tooManyPolicies : `no trust policy matches: ${nearest.failed.join(', ')}`;
  return { problem, ...(isAgentNamed && { policy: nearest.policy }) };
}

function noValidSignature(
  matching: readonly EvaluatedPolicy[],
  verdicts: ReadonlyMap<string, object>,
  isAgentNamed: boolean,
): SelectionFailure {
  const problems = matching.map(({ policy }) => {
    const verdict = verdicts.get(keySourceOf(policy));
    return { policy, problem: verdict && isRefused(verdict) ? verdict.reason : tooManySources };
  });
  // An organization can solve this problem itself, so it comes first.
  const reported = problems.find(({ problem }) => problem === tooManySources) ?? problems[0];
  return {
    problem: reported?.problem ?? 'bad_signature',
    ...(isAgentNamed && reported && { policy: reported.policy }),
  };
}
