import type { TokenErrorCode } from '../../contract/errors.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import type { Origin } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { createGate } from '../../kernel/gather.ts';
import type { Grant, IssuedToken, OutsideProof } from '../../kernel/grant.ts';
import { nobody } from '../../kernel/ids.ts';
import type { Entry } from '../../kernel/ledger.ts';
import { takeTurn } from '../../kernel/locks.ts';
import { type Claim, createReadClaim, type Held, holdClaims } from './claim.ts';
import { type Presented, presentedClient } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { type Minter, planRefusal, standingProblem, unwatched } from './mint.ts';
import { type Candidate, createSettle, type Decision } from './outcome.ts';
import { type TokenRequest, tokenRequestOf } from './schema.ts';
import type { Standing } from './store.ts';

export interface TokenAsked {
  readonly form: TokenRequest;
  readonly query: object;
  readonly authorization: string | string[] | undefined;
  readonly origin: Origin;
  countAgainst(subject: { clientId: string } | 'address'): Promise<void>;
}

export interface TokenService {
  issue(asked: TokenAsked): Promise<IssuedToken>;
  /** What a form that cannot be read is refused with. */
  malformed(form: unknown): TokenErrorCode;
}

/** Where the spec's own grant keeps to the spec's words, the others use those of RFC 6749 and RFC 8693. */
interface Words {
  readonly malformed: TokenErrorCode;
  readonly missingClient: TokenErrorCode;
  readonly badResource: TokenErrorCode;
}

const specWords: Words = {
  malformed: 'unsupported_grant_type',
  missingClient: 'unsupported_grant_type',
  badResource: 'unsupported_grant_type',
};
const rfcWords: Words = {
  malformed: 'invalid_request',
  missingClient: 'invalid_client',
  badResource: 'invalid_target',
};

/** Each may have to wait for somebody, and has a connection meanwhile. */
const redemptionsAtOnce = 4;
const redemptionsWaiting = 400;

export function createTokenService(deps: TokenDeps, { draft }: Minter): TokenService {
  const { db, clock, ledger, metrics, issuer, outsideProofs } = deps;
  const readClaim = createReadClaim(deps);
  const settle = createSettle<IssuedToken>(deps);
  const gate = createGate(redemptionsAtOnce, redemptionsWaiting);
  const inGate = <T>(work: (tx: Tx) => Promise<T>) => gate(() => db.transaction(work));
  const grants = new Map(deps.grants.map((grant) => [grant.grantType, grant]));
  const fields = Object.keys(tokenRequestOf(deps.grants).properties);

  const refusalOf = (
    { origin }: TokenAsked,
    { agentId, organizationId }: Pick<Standing, 'agentId' | 'organizationId'>,
    { reason, details }: TokenError,
  ): Entry => ({
    actor: origin,
    type: 'token.refused',
    subject: { organizationId, agentId, outcome: 'failure', metadata: { reason, ...details } },
  });

  const refused = (
    asked: TokenAsked,
    whom: Pick<Standing, 'agentId' | 'organizationId'>,
    error: TokenError,
  ): Decision<never> => ({
    entry: refusalOf(asked, whom, error),
    outcome: unwatched(Promise.reject(error)),
  });

  /** Counts the request against whom it is from; then the client, if it may have a token at all. */
  const admit = async (asked: TokenAsked, { standing, failure }: Held): Promise<Standing> => {
    if (!standing || failure !== undefined) {
      await asked.countAgainst('address');
      return failToken('invalid_client', failure ?? 'unknown');
    }
    await asked.countAgainst({ clientId: standing.agentId });
    const problem = standingProblem(standing);
    return problem === undefined ? standing : failToken('unauthorized_client', problem);
  };

  const byCredentials = async (
    asked: TokenAsked,
    audience: string,
    held: Held,
  ): Promise<Candidate<IssuedToken>> => {
    const client = await admit(asked, held);
    const allowed = scopes.filter((scope) => client.allowedScopes.includes(scope));
    const granted = grantedScopes(asked.form.scope, allowed);
    if (!granted) {
      const description = `invalid scope: this agent may hold ${allowed.join(' ') || 'none'}`;
      return failToken('unsupported_grant_type', description, 'scope not allowed');
    }
    return {
      client,
      granted: () => draft(client, { origin: asked.origin, audience, scope: granted.join(' ') }),
      refused: (limit) => refused(asked, client, planRefusal(limit)),
    };
  };

  const claimIn = (presented: Presented, words: Words): Promise<Claim> => {
    if (presented.kind === 'missing')
      failToken(words.missingClient, `${presented.field} is required, in the body or by HTTP Basic`);
    return readClaim(presented);
  };

  const audienceIn = ({ form }: TokenAsked, words: Words): string | undefined =>
    !form.resource
      ? undefined
      : (audienceOf(form.resource, issuer) ??
        failToken(words.badResource, 'resource must be an absolute http(s) URI without a fragment'));

  /** Somebody else's word for the client, if it is not its own that is presented. */
  const outsideProofIn = (
    asked: TokenAsked,
    presented: Presented,
    { scope, parties }: Pick<OutsideProof, 'scope' | 'parties'>,
  ): OutsideProof | undefined => {
    if (presented.kind !== 'assertion' || !outsideProofs.isOutside(presented.assertion)) return undefined;
    return { ...asked, token: presented.assertion, agentId: asked.form.client_id, scope, parties };
  };

  /** Together with others of the same moment. */
  const settleByCredentials = async (asked: TokenAsked): Promise<IssuedToken> => {
    const audience = audienceIn(asked, specWords) ?? issuer;
    const presented = presentedClient(asked.form, asked.authorization);
    const proof = outsideProofIn(asked, presented, { scope: asked.form.scope, parties: [] });
    if (proof) return outsideProofs.redeem(proof, audience);
    const claim = await claimIn(presented, specWords);
    const issued = await settle({
      claim,
      decide: (held) =>
        byCredentials(asked, audience, held).catch((error) => {
          if (!(error instanceof TokenError)) throw error;
          return refused(asked, held.standing ?? unknown(claim), error);
        }),
    });
    metrics.count('service_tokens_issued_total', { scope: issued.scope });
    return issued;
  };

  /** In a transaction of its own: what it rests on may have to be waited for, and nobody else is to wait for that. */
  const redeem = async (grant: Grant, asked: TokenAsked): Promise<IssuedToken> => {
    const { form, origin } = asked;
    const audience = audienceIn(asked, rfcWords);
    const presented = presentedClient(form, asked.authorization);
    const parties = await grant.parties(form);
    const proof = outsideProofIn(asked, presented, { scope: undefined, parties });
    if (proof)
      return outsideProofs.admit(proof, (tx, client) => grant.redeem(tx, { client, form, audience, origin }));
    const claim = await claimIn(presented, rfcWords);
    const outcome = await inGate(async (tx) => {
      await takeTurn(tx, 'agent', [claim.agentId, ...parties], 'together');
      const [holding] = await holdClaims(tx, [claim], { now: new Date(clock.now()), waiting: true });
      const held = holding as Held;
      try {
        const standing = await admit(asked, held);
        const client = { ...standing, scopes: standing.allowedScopes };
        return await grant.redeem(tx, { client, form, audience, origin });
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        await ledger.recordAll(tx, [refusalOf(asked, held.standing ?? unknown(claim), error)]);
        return error;
      }
    });
    if (outcome instanceof TokenError) throw outcome;
    return outcome;
  };

  return {
    malformed(form) {
      const { grant_type } = (form ?? {}) as { grant_type?: unknown };
      return (grants.has(String(grant_type)) ? rfcWords : specWords).malformed;
    },

    async issue(asked) {
      const { grant_type } = asked.form;
      const grant = grants.get(grant_type ?? '');
      refuseFieldsInAddress(asked.query, fields, grant ? rfcWords : specWords);
      if (grant) return redeem(grant, asked);
      requireGrantType(grant_type, [...grants.keys()]);
      return settleByCredentials(asked);
    },
  };
}

const unknown = ({ agentId }: Claim) => ({ agentId, organizationId: nobody });

/** All that the agent may hold when none is named; undefined when one is asked that it may not. */
function grantedScopes(asked: string | undefined, allowed: readonly Scope[]): readonly Scope[] | undefined {
  const words = (asked ?? '').split(' ').filter(Boolean);
  if (words.length === 0) return allowed;
  if (words.some((word) => !isScope(word) || !allowed.includes(word))) return undefined;
  return allowed.filter((scope) => words.includes(scope));
}

/** Addresses end up in logs, and a `scope` there would be overlooked: refused even beside a good body. */
function refuseFieldsInAddress(query: object, fields: readonly string[], { malformed }: Words): void {
  for (const name of fields)
    if (name in query) failToken(malformed, `${name} belongs in the body, not in the address`);
}

function requireGrantType(grantType: string | undefined, others: readonly string[]): void {
  if (grantType === 'client_credentials') return;
  const known = ['client_credentials', ...others].join(' or ');
  failToken(
    'unsupported_grant_type',
    grantType === undefined ? `grant_type is required and must be ${known}` : `grant_type must be ${known}`,
  );
}
