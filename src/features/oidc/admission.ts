/**
 * Who comes in by an outside token. Whatever is amiss with the token, the policies or the agent, the client is told the same,
 * but for what it can mend itself; the audit log of whoever was meant is told which. The token is verified before the transaction, because that may take a call elsewhere; that
 * the policy still stands and the token was not used before is seen within it. What is refused, there or by whoever issues,
 * has changed nothing: the token is used up by what is issued for it.
 */
import type { TokenErrorCode } from '../../contract/errors.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { createGate } from '../../kernel/gather.ts';
import type { Issue, IssuedToken, OutsideProof, ProvenClient } from '../../kernel/grant.ts';
import { isUuid, nobody, stranger } from '../../kernel/ids.ts';
import type { Entry } from '../../kernel/ledger.ts';
import { takeTurn } from '../../kernel/locks.ts';
import { isRefused, type Unverified } from '../../kernel/outside.ts';
import { type Chosen, createChoose, type Unmatched } from './candidates.ts';
import type { OidcDeps } from './feature.ts';
import { tokenKeysOf } from './keys.ts';
import { checksOf, failing } from './match.ts';
import { maxAgeSeconds, type TrustPolicy } from './schema.ts';
import { holdPolicy, markUsed, useToken } from './store.ts';

/** What a refusal is called where it is asked: RFC 8693's words here, RFC 6749's for a client that proves itself. */
export interface RefusalWords {
  readonly proof: TokenErrorCode;
  readonly standing: TokenErrorCode;
  readonly scope: TokenErrorCode;
}

export type Admit = (proof: OutsideProof, words: RefusalWords, issue: Issue) => Promise<IssuedToken>;

const told = 'the token is not one that is trusted here';
/** Of clocks that differ: how long past its end a token might still be shown to us. */
const leewaySeconds = 60;
const maxRecorded = 256;
/** Each may have to wait for somebody, and has a connection meanwhile. */
const admissionsAtOnce = 4;
const admissionsWaiting = 400;

interface About {
  readonly organizationId: string;
  readonly agentId: string;
  readonly metadata: Record<string, unknown>;
  /** Where it differs from what the others are told. */
  readonly reason?: string;
}

export function createAdmission(deps: OidcDeps): Admit {
  const { db, clock, ledger, metrics, outside, issuer: ourselves } = deps;
  const { holdStanding, findStanding } = deps;
  const choose = createChoose(deps);
  const gate = createGate(admissionsAtOnce, admissionsWaiting);
  const inGate = <T>(work: (tx: Tx) => Promise<T>) => gate(() => db.transaction(work));

  const recordRefusal = async (
    { origin: actor }: OutsideProof,
    abouts: readonly About[],
    error: TokenError,
  ) => {
    const entries = abouts.map(({ organizationId, agentId, reason = error.reason, ...about }): Entry => {
      const metadata = { ...about.metadata, reason, ...error.details };
      const subject = { organizationId, agentId, outcome: 'failure', metadata } as const;
      return { actor, type: 'token.refused', subject };
    });
    await db.transaction((tx) => ledger.recordAll(tx, entries));
  };

  const read = (proof: OutsideProof, words: RefusalWords): Unverified => {
    const token = outside.read(proof.token);
    if (isRefused(token)) return failToken(words.proof, told, token.reason);
    return token.issuer === ourselves ? failToken(words.proof, told, 'own_token') : token;
  };

  /** Where a refusal is to be read when no policy says so: by whoever has the agent that was named. */
  const aboutNobody = async ({ agentId }: OutsideProof): Promise<About> => {
    if (agentId === undefined || !isUuid(agentId)) return { ...stranger, metadata: {} };
    const named = agentId.toLowerCase();
    const standing = await findStanding(db, named);
    return { organizationId: standing?.organizationId ?? nobody, agentId: named, metadata: {} };
  };

  const aboutAll = async (
    proof: OutsideProof,
    token: Unverified,
    told: Unmatched['told'],
  ): Promise<About[]> =>
    told.length === 0
      ? [{ ...(await aboutNobody(proof)), metadata: vouchedBy(undefined, token) }]
      : told.map(({ policy, problem }) => ({ ...aboutPolicy(policy, token), reason: problem }));

  /** The policy as it stands, kept so with its agent until the transaction ends, and the token marked as used. */
  const prove = async (
    tx: Tx,
    token: Unverified,
    { policy: seen, verified }: Chosen,
    words: RefusalWords,
  ): Promise<TrustPolicy> => {
    const refuse = (problem: string) => failToken(words.proof, told, problem);
    const policy = await holdPolicy(tx, seen.policyId);
    if (!policy || policy.jwksUri !== seen.jwksUri) return refuse('the trust policy was changed meanwhile');
    const amiss = failing(checksOf(policy, verified.claims, clock.now()));
    if (amiss.length > 0)
      return refuse(`no trust policy matches: ${amiss.map(({ name }) => name).join(', ')}`);
    const standing = await holdStanding(tx, policy.agentId);
    if (!standing || standing.problem !== undefined) {
      const problem = standing?.problem ?? 'the agent does not exist';
      return failToken(words.standing, words.standing === words.proof ? told : problem, problem);
    }
    if (policy.singleUse && !(await useToken(tx, tokenKeysOf(token, policy), lastMoment(verified))))
      return refuse('the token was used before');
    return policy;
  };

  return async (proof, words, issue) => {
    let abouts: readonly About[] | undefined;
    try {
      const token = read(proof, words);
      const chosen = await choose(token, { agentId: proof.agentId, scopes: scopesIn(proof.scope) });
      if ('problem' in chosen) {
        abouts = await aboutAll(proof, token, chosen.told);
        return failToken(words.proof, chosen.advice ?? told, chosen.problem);
      }
      abouts = [aboutPolicy(chosen.policy, token)];
      return await inGate(async (tx) => {
        // Agents before policies, and all of them at once: the order of everybody who holds both.
        await takeTurn(tx, 'agent', [chosen.policy.agentId, ...proof.parties], 'together');
        const policy = await prove(tx, token, chosen, words);
        await proof.countAgainst({ clientId: policy.agentId });
        refuseScopesBeyond(policy, proof.scope, words);
        const issued = await issue(tx, clientBy(policy, token));
        markUsed(tx, policy.policyId, isoTime(clock));
        tx.afterCommit(() => metrics.count('service_oidc_tokens_issued_total', {}));
        return issued;
      });
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      // A request counts once: of a client that had proved itself, it has.
      await proof.countAgainst('address');
      await recordRefusal(proof, abouts ?? [await aboutNobody(proof)], error);
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

const clientBy = (policy: TrustPolicy, token: Unverified): ProvenClient => ({
  agentId: policy.agentId,
  organizationId: policy.organizationId,
  scopes: policy.scopes,
  vouched: vouchedBy(policy, token),
});

const aboutPolicy = (policy: TrustPolicy, token: Unverified): About => ({
  organizationId: policy.organizationId,
  agentId: policy.agentId,
  metadata: vouchedBy(policy, token),
});

/** By which policy, and of whom the token speaks; goes into the log, so not all of a long one. */
const vouchedBy = (policy: TrustPolicy | undefined, { issuer, claims: { sub } }: Unverified) => ({
  ...(policy && { policyId: policy.policyId }),
  issuer: issuer.slice(0, maxRecorded).toWellFormed(),
  ...(typeof sub === 'string' && { subject: sub.slice(0, maxRecorded).toWellFormed() }),
});

/** After this nobody would take the token, whatever becomes of its policy. */
const lastMoment = ({ expiresAt, issuedAt = 0 }: Chosen['verified']): string =>
  new Date((Math.min(expiresAt, issuedAt + maxAgeSeconds) + leewaySeconds) * 1000).toISOString();
