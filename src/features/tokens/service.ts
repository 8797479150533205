import type { TokenErrorCode } from '../../contract/errors.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import type { Origin } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { lockShared } from '../../kernel/data/locks.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import type { CountAgainst } from '../../kernel/http/route.ts';
import type { ExternalClientAssertion, Grant, IssuedToken } from '../../kernel/ports/grant.ts';
import { createAuthenticate } from './authenticate.ts';
import { type Claim, createReadClaim, type Failed, type Held, holdClaims } from './claim.ts';
import { type Presented, presentedClient } from './client.ts';
import type { TokenDeps } from './deps.ts';
import { type Minter, planRefusal, standingProblem, unwatched } from './mint.ts';
import { type Candidate, createSettle, type Decision } from './outcome.ts';
import { type TokenRequest, tokenRequestOf } from './schema.ts';
import type { Standing } from './store.ts';

export interface TokenAsked {
  readonly form: TokenRequest;
  readonly query: object;
  readonly authorization: string | string[] | undefined;
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
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

export function createTokenService(deps: TokenDeps, { draft }: Minter): TokenService {
  const { db, clock, ledger, metrics, issuer, outsideProofs, exchangeQueue } = deps;
  const readClaim = createReadClaim(deps);
  const settle = createSettle<IssuedToken>(deps);
  const { authenticate, refuse } = createAuthenticate(deps);
  const transactionFor = <T>(organizationId: string, work: (tx: Tx) => Promise<T>) =>
    exchangeQueue(organizationId, () => db.transaction(work));
  const grants = new Map(deps.grants.map((grant) => [grant.grantType, grant]));
  const fields = Object.keys(tokenRequestOf(deps.grants).properties);

  /** Of an authenticated client: recorded each time, in the transaction that refuses. */
  const refusalOf = (
    { origin }: TokenAsked,
    { agentId, organizationId }: Standing,
    { reason, details }: TokenError,
  ): LedgerEntry => ({
    actor: { ...origin, agentId },
    type: 'token.refused',
    subject: { organizationId, agentId, outcome: 'failure', metadata: { reason, ...details } },
  });

  const refused = (asked: TokenAsked, client: Standing, error: TokenError): Decision<never> => ({
    entry: refusalOf(asked, client, error),
    outcome: unwatched(Promise.reject(error)),
  });

  const byCredentials = (
    asked: TokenAsked,
    audience: string,
    client: Standing,
  ): Decision<IssuedToken> | Candidate<IssuedToken> => {
    const problem = standingProblem(client);
    if (problem !== undefined) return refused(asked, client, new TokenError('unauthorized_client', problem));
    const allowed = scopes.filter((scope) => client.allowedScopes.includes(scope));
    const granted = grantedScopes(asked.form.scope, allowed);
    if (!granted) {
      const description = `invalid scope: this agent may hold ${allowed.join(' ') || 'none'}`;
      const error = new TokenError('unsupported_grant_type', description, 'scope not allowed');
      return refused(asked, client, error);
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

  /** The outside token that stands for the client's own proof, if one is presented. */
  const outsideProofIn = (
    asked: TokenAsked,
    presented: Presented,
    { scope, parties }: Pick<ExternalClientAssertion, 'scope' | 'parties'>,
  ): ExternalClientAssertion | undefined => {
    if (presented.kind !== 'assertion' || !outsideProofs.isOutside(presented.assertion)) return undefined;
    return { ...asked, token: presented.assertion, agentId: asked.form.client_id, scope, parties };
  };

  /** In one transaction with concurrent requests. */
  const settleByCredentials = async (asked: TokenAsked): Promise<IssuedToken> => {
    const audience = audienceIn(asked, specWords) ?? issuer;
    const presented = presentedClient(asked.form, asked.authorization);
    const proof = outsideProofIn(asked, presented, { scope: asked.form.scope, parties: async () => [] });
    if (proof) return outsideProofs.redeem(proof, audience);
    const { claim, organizationId } = await authenticate(asked, await claimIn(presented, specWords));
    const decide = (client: Standing) => byCredentials(asked, audience, client);
    const settled = await settle({ organizationId, claim, decide });
    if ('failure' in settled) return refuse(asked, claim, settled.failure);
    metrics.count('service_tokens_issued_total', { scope: settled.scope });
    return settled;
  };

  /** In a transaction of its own: it may have to wait for locks, and no other request is to wait for these. */
  const redeem = async (grant: Grant, asked: TokenAsked): Promise<IssuedToken> => {
    const { form, origin } = asked;
    const audience = audienceIn(asked, rfcWords);
    const presented = presentedClient(form, asked.authorization);
    const proof = outsideProofIn(asked, presented, { scope: undefined, parties: () => grant.parties(form) });
    if (proof)
      return outsideProofs.admit(proof, (tx, client) => grant.redeem(tx, { client, form, audience, origin }));
    const { claim, organizationId } = await authenticate(asked, await claimIn(presented, rfcWords));
    const parties = await grant.parties(form);
    const outcome = await transactionFor(
      organizationId,
      async (tx): Promise<IssuedToken | TokenError | Failed> => {
        await lockShared(tx, 'agent', [claim.agentId, ...parties]);
        const [held] = await holdClaims(tx, [claim], { now: new Date(clock.now()), waiting: true });
        const client = held as Held;
        if ('failure' in client) return client;
        try {
          const problem = standingProblem(client);
          if (problem !== undefined) failToken('unauthorized_client', problem);
          return await grant.redeem(tx, {
            client: { ...client, scopes: client.allowedScopes },
            form,
            audience,
            origin,
          });
        } catch (error) {
          if (!(error instanceof TokenError)) throw error;
          await ledger.recordAll(tx, [refusalOf(asked, client, error)]);
          return error;
        }
      },
    );
    if (outcome instanceof TokenError) throw outcome;
    return 'failure' in outcome ? refuse(asked, claim, outcome.failure) : outcome;
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
