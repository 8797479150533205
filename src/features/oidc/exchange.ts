/**
 * An outside token for an access token of ours. Whatever is amiss with the token, the policies or the agent, the client is
 * told the same; the audit log is told which. The token is verified before the transaction, because that may take a call
 * elsewhere; that the policy still stands and the token was not used before is seen within it.
 */
import type { TokenErrorCode } from '../../contract/errors.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import type { IssuedToken, OutsideProof } from '../../kernel/grant.ts';
import { isUuid, nobody, stranger } from '../../kernel/ids.ts';
import { isRefused, type Unverified } from '../../kernel/outside.ts';
import { type Chosen, createChoose } from './candidates.ts';
import type { OidcDeps } from './feature.ts';
import { tokenKeyOf } from './keys.ts';
import { checksOf, failing } from './match.ts';
import { maxAgeSeconds } from './schema.ts';
import { holdPolicy, markUsed, useToken } from './store.ts';

/** What a refusal is called where it is asked: RFC 8693's words here, RFC 6749's for a client that proves itself. */
export interface RefusalWords {
  readonly proof: TokenErrorCode;
  readonly standing: TokenErrorCode;
  readonly scope: TokenErrorCode;
}

export interface Exchange {
  /** Whether an assertion is somebody else's word rather than the client's own: its issuer has an address, and is not its subject. */
  isOutside(assertion: string): boolean;
  redeem(proof: OutsideProof, words: RefusalWords): Promise<IssuedToken>;
}

const told = 'the token is not one that is trusted here';
/** Of clocks that differ: how long past its end a token might still be shown to us. */
const leewaySeconds = 60;
const maxRecorded = 256;

interface About {
  readonly organizationId: string;
  readonly agentId: string;
  readonly metadata: Record<string, unknown>;
}

export function createExchange(deps: OidcDeps): Exchange {
  const { db, clock, ledger, metrics, outside, issuer: ourselves, mint, countExchange } = deps;
  const { holdStanding, findStanding } = deps;
  const choose = createChoose(deps);

  const recordRefusal = async ({ origin }: OutsideProof, about: About, error: TokenError) => {
    const { organizationId, agentId } = about;
    const metadata = { ...about.metadata, reason: error.reason, ...error.details };
    const subject = { organizationId, agentId, outcome: 'failure', metadata } as const;
    await db.transaction((tx) => ledger.record(tx, origin, 'token.refused', subject));
  };

  const read = (proof: OutsideProof, words: RefusalWords): Unverified => {
    const token = outside.read(proof.token);
    if (isRefused(token)) return failToken(words.proof, told, token.reason);
    return token.issuer === ourselves ? failToken(words.proof, told, 'own_token') : token;
  };

  /** Where the refusal is to be read: by whoever wrote the policy, or by whoever has the agent that was named. */
  const aboutNobody = async ({ agentId }: OutsideProof): Promise<About> => {
    if (agentId === undefined || !isUuid(agentId)) return { ...stranger, metadata: {} };
    const named = agentId.toLowerCase();
    const standing = await findStanding(db, named);
    return { organizationId: standing?.organizationId ?? nobody, agentId: named, metadata: {} };
  };

  const settle = async (
    tx: Tx,
    proof: OutsideProof,
    token: Unverified,
    { policy: seen, verified }: Chosen,
    words: RefusalWords,
  ): Promise<IssuedToken> => {
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
    const wanted = scopesIn(proof.scope);
    if (wanted.some((scope) => !policy.scopes.includes(scope)))
      return failToken(
        words.scope,
        `invalid scope: the trust policy gives ${policy.scopes.join(' ') || 'none'}`,
      );
    if (policy.singleUse && !(await useToken(tx, tokenKeyOf(token, policy.jwksUri), lastMoment(verified))))
      return refuse('the token was used before');
    await proof.countAgainst({ clientId: policy.agentId });
    const issued = await mint(tx, {
      origin: proof.origin,
      agentId: policy.agentId,
      scopes: wanted.length > 0 ? wanted : policy.scopes,
      audience: proof.audience,
      metadata: { policyId: policy.policyId, ...described(token) },
    });
    if (wanted.length > 0 && scopesIn(issued.scope).length < new Set(wanted).size)
      return failToken(words.scope, `invalid scope: this agent may hold ${issued.scope || 'none of these'}`);
    markUsed(tx, policy.policyId, isoTime(clock));
    tx.afterCommit(() => {
      metrics.count('service_oidc_tokens_issued_total', {});
      countExchange(policy);
    });
    return issued;
  };

  const redeem: Exchange['redeem'] = async (proof, words) => {
    let about: About | undefined;
    try {
      const token = read(proof, words);
      const chosen = await choose(token, { agentId: proof.agentId, scopes: scopesIn(proof.scope) });
      const { policy } = chosen;
      about = {
        ...(policy ?? (await aboutNobody(proof))),
        metadata: { ...(policy && { policyId: policy.policyId }), ...described(token) },
      };
      if ('problem' in chosen) return failToken(words.proof, told, chosen.problem);
      return await db.transaction((tx) => settle(tx, proof, token, chosen, words));
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      await proof.countAgainst('address');
      await recordRefusal(proof, about ?? (await aboutNobody(proof)), error);
      throw error;
    }
  };

  return {
    redeem,
    isOutside(assertion) {
      const token = outside.read(assertion);
      return !isRefused(token) && /^https?:\/\//i.test(token.issuer) && token.issuer !== token.claims.sub;
    },
  };
}

const scopesIn = (text: string | undefined): string[] => (text ?? '').split(' ').filter(Boolean);

/** Of whom the token speaks; goes into the log, so not all of a long one. */
const described = ({ issuer, claims: { sub } }: Unverified) => ({
  issuer: issuer.slice(0, maxRecorded).toWellFormed(),
  ...(typeof sub === 'string' && { subject: sub.slice(0, maxRecorded).toWellFormed() }),
});

/** After this nobody would take the token, whatever becomes of its policy. */
const lastMoment = ({ expiresAt, issuedAt = 0 }: Chosen['verified']): string =>
  new Date((Math.min(expiresAt, issuedAt + maxAgeSeconds) + leewaySeconds) * 1000).toISOString();
