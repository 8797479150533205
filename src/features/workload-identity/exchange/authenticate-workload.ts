/**
 * Admits a workload by an external token. A client gets one uniform answer for every problem of the token, the policies or the
 * agent, except where it can solve the problem itself; the audit log says more. The token is verified and the request counted
 * before the transaction, because both may call other servers. Within the transaction the policy is checked again, under locks,
 * and the token is marked as used. A refusal changes nothing: a token is used up only when the action succeeds.
 */

import { pollingErrors } from '../../../contract/errors.ts';
import type { Actor } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import { failedChecks } from '../../../kernel/conditions/match.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { lockShared } from '../../../kernel/data/locks.ts';
import type { LedgerEntry } from '../../../kernel/domain-event.ts';
import { failToken, TokenError } from '../../../kernel/fail.ts';
import { anonymous, isUuid, nilUuid } from '../../../kernel/ids.ts';
import { audiencesOf, isRefused, type UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type { AuthenticatedClient, ExternalClientAssertion, WorkloadAction } from '../../tokens/grant.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import { checksOf, ownAudiences } from '../policies/match.ts';
import { lockPolicyShared } from '../policies/store.ts';
import { maxAgeSeconds, type TrustPolicy } from '../schema.ts';
import { createPolicySelection, type SelectedPolicy } from './policy-selection.ts';
import type { RefusalCodes } from './request.ts';
import { singleUseKeysOf } from './single-use-keys.ts';
import { isUsed, markTokenUsed, recordPolicyUse } from './store.ts';
import { createTargetScopes, type TargetScopes } from './target-scopes.ts';

/**
 * Authenticates the workload and acts within the transaction that uses its token up. The audience is that of a token of the
 * agent's own; other actions decide about theirs.
 */
export type AuthenticateWorkload = <Result>(
  assertion: ExternalClientAssertion,
  codes: RefusalCodes,
  act: WorkloadAction<Result>,
  audience?: string,
) => Promise<Result>;

const uniformMessage = 'the token is not one that is trusted here';
const tooManyActors = 'more than ten actors are nested in the assertion';
const usedBefore = 'the token was used before';
/** Clock skew: how long past its end an issuer's token may still be presented. */
const leewaySeconds = 60;
const maxRecordedLength = 256;

/** Facts about a request, gathered step by step. The audit event of a refusal is made from them. */
interface RefusalContext {
  /** An agent once the token is verified; until then an address. */
  actor: Actor;
  token?: UnverifiedToken;
  policy?: TrustPolicy;
}

export function createAuthenticateWorkload(deps: WorkloadIdentityDeps): AuthenticateWorkload {
  const { db, clock, externalTokens, issuer: ownIssuer, multiTenant } = deps;
  const { lockEligibility, findEligibility, recordRefusal, exchangeQueue } = deps;
  const selectPolicy = createPolicySelection(deps);
  const targetScopes = createTargetScopes(deps);

  const refusalEvent = async (
    { agentId }: ExternalClientAssertion,
    { actor, token, policy }: RefusalContext,
    { reason, details }: TokenError,
  ): Promise<LedgerEntry> => {
    const recipient = policy ?? (await auditRecipientOf(agentId));
    const metadata = { ...(token && externalIdentity(policy, token)), reason, ...details };
    const subject = {
      organizationId: recipient.organizationId,
      agentId: recipient.agentId,
      outcome: 'failure',
      metadata,
    } as const;
    return { actor, type: 'token.refused', subject };
  };

  /** Without a policy: the organization whose agent the client names, otherwise the log of no organization. */
  const auditRecipientOf = async (agentId: string | undefined) => {
    if (agentId === undefined || !isUuid(agentId)) return anonymous;
    const eligibility = await findEligibility(db, agentId.toLowerCase());
    return { organizationId: eligibility?.organizationId ?? nilUuid, agentId: agentId.toLowerCase() };
  };

  const parseToken = (assertion: ExternalClientAssertion, codes: RefusalCodes): UnverifiedToken => {
    const token = externalTokens.read(assertion.token, assertion.svid ? 'svid' : 'token');
    if (isRefused(token))
      return token.reason === 'too_many_actors'
        ? failToken('invalid_request', tooManyActors, token.reason)
        : failToken(codes.token, uniformMessage, token.reason);
    const problem = assertion.svid && svidProblem(token, ownIssuer);
    if (problem) return failToken(codes.token, uniformMessage, problem);
    return token.issuer === ownIssuer ? failToken(codes.token, uniformMessage, 'own_token') : token;
  };

  /** Selects the policy that admits the token, without locks; counts the request against the policy's agent. */
  const authenticate = async (
    assertion: ExternalClientAssertion,
    codes: RefusalCodes,
    context: RefusalContext,
    audience: string | undefined,
  ): Promise<{ token: UnverifiedToken; selected: SelectedPolicy }> => {
    const token = parseToken(assertion, codes);
    context.token = token;
    const { agentId: namedAgent, svid = false } = assertion;
    const request = { agentId: namedAgent, svid, scopes: parseScopes(assertion.scope), audience };
    const selected = await selectPolicy(token, request);
    if (selected.policy) context.policy = selected.policy;
    if ('problem' in selected)
      return failToken(codes.token, selected.publicMessage ?? uniformMessage, selected.problem);
    const { agentId, singleUse, rateLimitPerMinute } = selected.policy;
    if (singleUse && (await isUsed(db, singleUseKeysOf(token, selected.policy))))
      return failToken(codes.token, uniformMessage, usedBefore);
    await assertion.countAgainst({ clientId: agentId, rateLimitPerMinute });
    context.actor = { ...assertion.origin, agentId };
    return { token, selected };
  };

  /** Locks the policy and its agent until the transaction ends, checks both again, and marks the token as used. */
  const lockAndUse = async (
    tx: Tx,
    token: UnverifiedToken,
    { policy: before, verified }: SelectedPolicy,
    codes: RefusalCodes,
  ): Promise<TrustPolicy> => {
    const refuse = (problem: string) => failToken(codes.token, uniformMessage, problem);
    const policy = await lockPolicyShared(tx, before.policyId);
    if (!policy || policy.jwksUri !== before.jwksUri)
      return refuse('the trust policy was changed during the exchange');
    const failed = failedChecks(checksOf(policy, verified.claims, clock.now(), ownIssuer));
    if (failed.length > 0)
      return refuse(`no trust policy matches: ${failed.map(({ name }) => name).join(', ')}`);
    const eligibility = await lockEligibility(tx, policy.agentId);
    if (!eligibility || eligibility.problem !== undefined) {
      const problem = eligibility?.problem ?? 'the agent does not exist';
      return failToken(codes.agent, codes.agent === codes.token ? uniformMessage : problem, problem);
    }
    if (
      policy.singleUse &&
      !(await markTokenUsed(tx, singleUseKeysOf(token, policy), latestExpiry(verified)))
    )
      return refuse(usedBefore);
    return policy;
  };

  return async (assertion, codes, act, audience) => {
    // Before any lookup: otherwise the policies of one tenant would decide about the workloads of another.
    if (multiTenant && !assertion.agentId)
      failToken('invalid_request', 'client_id is required: the agent to become');
    const context: RefusalContext = { actor: assertion.origin };
    try {
      const { token, selected } = await authenticate(assertion, codes, context, audience);
      const keyProof = await assertion.provePossession?.();
      const parties = await assertion.agentsToLock(selected.policy, keyProof);
      return await exchangeQueue(selected.policy.organizationId, () =>
        db.transaction(async (tx) => {
          // Lock order: all agents at once, then policies. Every transaction that locks both does the same.
          await lockShared(tx, 'agent', [selected.policy.agentId, ...parties]);
          const policy = await lockAndUse(tx, token, selected, codes);
          const target = await targetScopes(tx, policy, audience, codes);
          refuseExcessScopes(target, assertion.scope);
          const client = authenticatedClient(policy, token, target);
          const result = await act(tx, keyProof ? { ...client, keyProof } : client);
          recordPolicyUse(tx, policy.policyId, isoTime(clock));
          return result;
        }),
      );
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      // A request counts once: a verified request is already counted against its agent.
      await assertion.countAgainst('address');
      if (!pollingErrors.has(error.code)) await recordRefusal(await refusalEvent(assertion, context, error));
      throw error;
    }
  };
}

/** A JWT-SVID is for one server only: its agent gives it out for an audience. */
function svidProblem({ claims }: UnverifiedToken, issuer: string): string | undefined {
  const [audience = '', ...others] = audiencesOf(claims);
  if (others.length > 0 || !ownAudiences(issuer).includes(audience)) return 'audience_mismatch';
  return typeof claims.sub === 'string' && claims.sub.startsWith('spiffe://')
    ? undefined
    : 'the subject is no SPIFFE ID';
}

export const parseScopes = (text: string | undefined): string[] => (text ?? '').split(' ').filter(Boolean);

function refuseExcessScopes({ scopes, code }: TargetScopes, requested: string | undefined): void {
  if (parseScopes(requested).some((scope) => !scopes.includes(scope)))
    failToken(code, `invalid scope: the trust policy gives ${scopes.join(' ') || 'none'}`);
}

const authenticatedClient = (
  policy: TrustPolicy,
  token: UnverifiedToken,
  { scopes }: TargetScopes,
): AuthenticatedClient => ({
  agentId: policy.agentId,
  organizationId: policy.organizationId,
  scopes,
  trustPolicyId: policy.policyId,
  auditMetadata: externalIdentity(policy, token),
});

/** For the audit log: policy, issuer and subject. Long values are truncated. */
const externalIdentity = (policy: TrustPolicy | undefined, { issuer, claims: { sub } }: UnverifiedToken) => ({
  ...(policy && { policyId: policy.policyId }),
  issuer: issuer.slice(0, maxRecordedLength).toWellFormed(),
  ...(typeof sub === 'string' && { subject: sub.slice(0, maxRecordedLength).toWellFormed() }),
});

/** No policy accepts the token after this time, even if its age limit is raised to the maximum. */
const latestExpiry = ({ expiresAt, issuedAt = 0 }: SelectedPolicy['verified']): string =>
  new Date((Math.min(expiresAt, issuedAt + maxAgeSeconds) + leewaySeconds) * 1000).toISOString();
