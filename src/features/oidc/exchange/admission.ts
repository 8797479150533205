/**
 * Admission by an outside token. Whatever is wrong with the token, the policies or the agent, the client gets the same answer,
 * except where it can solve the problem itself; the audit log says more. The token is verified and the request counted before the
 * transaction, because both may take a call elsewhere; that the policy still admits it and the token was not used before is checked
 * within it. A refusal changes nothing: the token is used up by what is issued for it.
 */
import type { TokenErrorCode } from '../../../contract/errors.ts';
import type { Actor } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { lockShared } from '../../../kernel/data/locks.ts';
import type { LedgerEntry } from '../../../kernel/domain-event.ts';
import { failToken, TokenError } from '../../../kernel/fail.ts';
import { anonymous, isUuid, nilUuid } from '../../../kernel/ids.ts';
import { isRefused, type UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type {
  AuthenticatedClient,
  ExternalClientAssertion,
  Issue,
  IssuedToken,
} from '../../../kernel/ports/grant.ts';
import type { OidcDeps } from '../deps.ts';
import { tokenKeysOf } from '../policies/lookup-keys.ts';
import { checksOf, failing } from '../policies/match.ts';
import { holdPolicy, isUsed, markUsed, useToken } from '../policies/store.ts';
import { maxAgeSeconds, type TrustPolicy } from '../schema.ts';
import { type Chosen, createChoose } from './policy-selection.ts';

/** What a refusal is called where it is asked: RFC 8693's words here, RFC 6749's for a client that proves itself. */
export interface RefusalWords {
  readonly proof: TokenErrorCode;
  readonly standing: TokenErrorCode;
  readonly scope: TokenErrorCode;
}

export type Admit = (
  proof: ExternalClientAssertion,
  words: RefusalWords,
  issue: Issue,
) => Promise<IssuedToken>;

const told = 'the token is not one that is trusted here';
const usedBefore = 'the token was used before';
/** Of clocks that differ: how long past its end a token might still be shown to us. */
const leewaySeconds = 60;
const maxRecorded = 256;

/** What is known of a request so far: what the record of its refusal is made of. */
interface Progress {
  /** An agent once the token is verified; until then an address. */
  actor: Actor;
  token?: UnverifiedToken;
  policy?: TrustPolicy;
}

export function createAdmission(deps: OidcDeps): Admit {
  const { db, clock, metrics, outside, issuer: ourselves, multiTenant } = deps;
  const { lockEligibility, findEligibility, recordRefusal, exchangeQueue } = deps;
  const choose = createChoose(deps);

  /** In the log of the policy's organization, or of the one whose agent is named; otherwise in that of no organization. */
  const refusalOf = async (
    { agentId }: ExternalClientAssertion,
    { actor, token, policy }: Progress,
    { reason, details }: TokenError,
  ): Promise<LedgerEntry> => {
    const { organizationId, agentId: subjectId } = policy ?? (await named(agentId));
    const metadata = { ...(token && vouchedBy(policy, token)), reason, ...details };
    const subject = { organizationId, agentId: subjectId, outcome: 'failure', metadata } as const;
    return { actor, type: 'token.refused', subject };
  };

  const named = async (agentId: string | undefined) => {
    if (agentId === undefined || !isUuid(agentId)) return anonymous;
    const standing = await findEligibility(db, agentId.toLowerCase());
    return { organizationId: standing?.organizationId ?? nilUuid, agentId: agentId.toLowerCase() };
  };

  const read = (proof: ExternalClientAssertion, words: RefusalWords): UnverifiedToken => {
    const token = outside.read(proof.token);
    if (isRefused(token)) return failToken(words.proof, told, token.reason);
    return token.issuer === ourselves ? failToken(words.proof, told, 'own_token') : token;
  };

  /** The policy that admits the token, checked without locks; counts the request against the policy's agent. */
  const authenticate = async (
    proof: ExternalClientAssertion,
    words: RefusalWords,
    progress: Progress,
  ): Promise<{ token: UnverifiedToken; chosen: Chosen }> => {
    const token = read(proof, words);
    progress.token = token;
    const chosen = await choose(token, { agentId: proof.agentId, scopes: scopesIn(proof.scope) });
    const { policy } = chosen;
    if (policy) progress.policy = policy;
    if ('problem' in chosen) return failToken(words.proof, chosen.advice ?? told, chosen.problem);
    const { agentId, singleUse } = chosen.policy;
    if (singleUse && (await isUsed(db, tokenKeysOf(token, chosen.policy))))
      return failToken(words.proof, told, usedBefore);
    await proof.countAgainst({ clientId: agentId });
    progress.actor = { ...proof.origin, agentId };
    return { token, chosen };
  };

  /** The policy as it stands, locked with its agent until the transaction ends, and the token marked as used. */
  const prove = async (
    tx: Tx,
    token: UnverifiedToken,
    { policy: seen, verified }: Chosen,
    words: RefusalWords,
  ): Promise<TrustPolicy> => {
    const refuse = (problem: string) => failToken(words.proof, told, problem);
    const policy = await holdPolicy(tx, seen.policyId);
    if (!policy || policy.jwksUri !== seen.jwksUri) return refuse('the trust policy was changed meanwhile');
    const amiss = failing(checksOf(policy, verified.claims, clock.now()));
    if (amiss.length > 0)
      return refuse(`no trust policy matches: ${amiss.map(({ name }) => name).join(', ')}`);
    const standing = await lockEligibility(tx, policy.agentId);
    if (!standing || standing.problem !== undefined) {
      const problem = standing?.problem ?? 'the agent does not exist';
      return failToken(words.standing, words.standing === words.proof ? told : problem, problem);
    }
    if (policy.singleUse && !(await useToken(tx, tokenKeysOf(token, policy), lastMoment(verified))))
      return refuse(usedBefore);
    return policy;
  };

  return async (proof, words, issue) => {
    // Before anything is looked up: otherwise the policies of one tenant would decide about the workloads of another.
    if (multiTenant && !proof.agentId)
      failToken('invalid_request', 'client_id is required: the agent to become');
    const progress: Progress = { actor: proof.origin };
    try {
      const { token, chosen } = await authenticate(proof, words, progress);
      const parties = await proof.parties();
      return await exchangeQueue(chosen.policy.organizationId, () =>
        db.transaction(async (tx) => {
          // Agents before policies, and all of them at once: the order of every transaction that locks both.
          await lockShared(tx, 'agent', [chosen.policy.agentId, ...parties]);
          const policy = await prove(tx, token, chosen, words);
          refuseScopesBeyond(policy, proof.scope, words);
          const issued = await issue(tx, clientBy(policy, token));
          markUsed(tx, policy.policyId, isoTime(clock));
          tx.afterCommit(() => metrics.count('service_oidc_tokens_issued_total', {}));
          return issued;
        }),
      );
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      // A request counts once: one that was verified is counted against its agent already.
      await proof.countAgainst('address');
      await recordRefusal(await refusalOf(proof, progress, error));
      throw error;
    }
  };
}

export const scopesIn = (text: string | undefined): string[] => (text ?? '').split(' ').filter(Boolean);

function refuseScopesBeyond({ scopes }: TrustPolicy, asked: string | undefined, words: RefusalWords): void {
  const given: readonly string[] = scopes;
  if (scopesIn(asked).some((scope) => !given.includes(scope)))
    failToken(words.scope, `invalid scope: the trust policy gives ${scopes.join(' ') || 'none'}`);
}

const clientBy = (policy: TrustPolicy, token: UnverifiedToken): AuthenticatedClient => ({
  agentId: policy.agentId,
  organizationId: policy.organizationId,
  scopes: policy.scopes,
  vouched: vouchedBy(policy, token),
});

/** By which policy, and of whom the token speaks; goes into the log, so not all of a long one. */
const vouchedBy = (policy: TrustPolicy | undefined, { issuer, claims: { sub } }: UnverifiedToken) => ({
  ...(policy && { policyId: policy.policyId }),
  issuer: issuer.slice(0, maxRecorded).toWellFormed(),
  ...(typeof sub === 'string' && { subject: sub.slice(0, maxRecorded).toWellFormed() }),
});

/** After this nobody would take the token, whatever becomes of its policy. */
const lastMoment = ({ expiresAt, issuedAt = 0 }: Chosen['verified']): string =>
  new Date((Math.min(expiresAt, issuedAt + maxAgeSeconds) + leewaySeconds) * 1000).toISOString();
