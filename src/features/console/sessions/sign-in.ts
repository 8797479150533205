/** Signing in by client id and secret, by the code of a one-time link, or by a code for the command line. */

import { actingPerson, type Origin } from '../../../kernel/caller.ts';
import { fail } from '../../../kernel/fail.ts';
import { validationError } from '../../../kernel/http/input/validation.ts';
import type { CountAgainst } from '../../../kernel/http/route.ts';
import { isUuid, nilUuid } from '../../../kernel/ids.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { TokenEligibility } from '../../tokens/eligibility.ts';
import { challengeOf, codeHashOf, codePrefix } from '../codes/service.ts';
import { findCode, takeCode } from '../codes/store.ts';
import type { ConsoleDeps } from '../feature.ts';
import { findLink, hasActiveCredential, type StoredLink, takeLink } from '../links/store.ts';
import type { SignIn } from '../schema.ts';
import { type Sessions, type SignInMethod, timesAt } from './service.ts';
import { lockSession } from './store.ts';

interface SignInRequest {
  readonly body: SignIn;
  readonly cookies: string | undefined;
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
}

/** Returns the value of `Set-Cookie`. */
export type SignInService = (request: SignInRequest) => Promise<string>;

/** The same for an unknown client and a wrong secret. */
const wrongSecret = 'client authentication failed: check the client id, and that its secret is current';
/** Its secret alone must open nothing. A link is made with a token, which needed a proof. */
const proofNeeded =
  'this agent demands a proof of possession (DPoP), so its secret alone cannot sign in: make a link with POST /api/v1/console/links and a token of the agent, or sign in as a person';
const wrongLink =
  'the link was used already, or is older than a minute: get a new one with `countersign console`';
const wrongCode =
  'the code was used already, is older than two minutes, or is of another server: get a new one in the console of this server, under "Sign in to the command line"';

interface Refused {
  readonly reason: string;
  readonly agentId: string;
  readonly eligibility: TokenEligibility | undefined;
}

export function createSignIn(deps: ConsoleDeps, sessions: Sessions): SignInService {
  const { db, clock, findCredential, recordUse, findEligibility, lockEligibility } = deps;

  const refuse = async (
    { origin }: SignInRequest,
    method: SignInMethod,
    { agentId, reason, eligibility }: Refused,
  ): Promise<never> => {
    const organizationId = eligibility?.organizationId ?? nilUuid;
    await sessions.recordRefusal(origin, { method, reason, agentId, organizationId });
    if (eligibility?.problem !== undefined && eligibility.organizationStatus !== 'active')
      fail('ORG_SUSPENDED');
    return fail('UNAUTHORIZED', { message: sentence(reason) });
  };

  /** Counts against the address: anyone can send wrong secrets for a client's public id. */
  const refuseUnverified = async (
    request: SignInRequest,
    method: SignInMethod,
    agentId: string,
    reason: string,
  ): Promise<never> => {
    await request.countAgainst('address');
    const owner = await findEligibility(db, agentId);
    // Without its problem, which a client that proved nothing must not learn.
    const eligibility = owner && { ...owner, organizationStatus: 'active' as const };
    return refuse(request, method, { agentId, reason, eligibility });
  };

  const bySecret = async (request: SignInRequest, clientId: string, secret: string): Promise<string> => {
    const { origin, cookies, countAgainst } = request;
    // The nil UUID costs the same look-up, and finds no agent.
    const agentId = isUuid(clientId) ? clientId.toLowerCase() : nilUuid;
    if ((await findCredential(db, agentId, secret)) === undefined)
      return refuseUnverified(request, 'client', agentId, wrongSecret);
    await countAgainst({ clientId: agentId });
    const result = await db.transaction(async (tx): Promise<string | Refused> => {
      const eligibility = await lockEligibility(tx, agentId);
      // Again, under the lock: it may have been rotated or revoked since the first check.
      const credentialId = await findCredential(tx, agentId, secret);
      const problem =
        credentialId === undefined
          ? wrongSecret
          : (eligibility?.problem ?? (eligibility?.needsProof ? proofNeeded : undefined));
      if (!eligibility || problem !== undefined)
        return { agentId, reason: problem ?? wrongSecret, eligibility };
      const { organizationId, scopes } = eligibility;
      if (credentialId !== undefined) tx.afterCommit(() => recordUse(credentialId));
      return sessions.create(
        tx,
        origin,
        { method: 'client', agentId, organizationId, scopes, credentialId },
        cookies,
      );
    });
    return typeof result === 'string' ? result : refuse(request, 'client', result);
  };

  /** The credential that the link was made with must still be good. */
  const problemOf = async (
    tx: Parameters<typeof hasActiveCredential>[0],
    { credentialId }: StoredLink,
    eligibility: TokenEligibility | undefined,
  ): Promise<string | undefined> => {
    if (eligibility?.problem !== undefined) return eligibility.problem;
    if (credentialId === null) return undefined;
    return (await hasActiveCredential(tx, credentialId, new Date(clock.now())))
      ? undefined
      : 'the credential of the link is no longer valid';
  };

  const byLink = async (request: SignInRequest, code: string): Promise<string> => {
    const { origin, cookies, countAgainst } = request;
    const codeHash = hashSecret(code);
    const now = new Date(clock.now());
    const known = await findLink(db, codeHash, now);
    if (!known) return refuseUnverified(request, 'link', nilUuid, wrongLink);
    await countAgainst({ clientId: known.agentId });
    const result = await db.transaction(async (tx): Promise<string | Refused> => {
      const { agentId } = known;
      const eligibility = await lockEligibility(tx, agentId);
      // Of requests with the same code at the same moment, one deletes the row.
      const link = await takeLink(tx, codeHash, now);
      if (!link || !eligibility) return { agentId, reason: wrongLink, eligibility };
      const problem = await problemOf(tx, link, eligibility);
      if (problem !== undefined) return { agentId, reason: problem, eligibility };
      const { organizationId, scopes } = link;
      const credentialId = link.credentialId ?? undefined;
      const keyId = link.keyId ?? undefined;
      return sessions.create(
        tx,
        origin,
        { method: 'link', agentId, organizationId, scopes, credentialId, keyId },
        cookies,
      );
    });
    return typeof result === 'string' ? result : refuse(request, 'link', result);
  };

  /** A session for the command line. A session of the request's cookie stays: it may be the one that made the code. */
  const byCode = async (request: SignInRequest, code: string, verifier?: string): Promise<string> => {
    const { origin, countAgainst } = request;
    const codeHash = codeHashOf(code, verifier === undefined ? undefined : challengeOf(verifier));
    const now = clock.now();
    const known = await findCode(db, codeHash, new Date(now));
    if (!known) return refuseUnverified(request, 'command-line', nilUuid, wrongCode);
    const { agentId, sessionId } = known;
    // A member acts through no agent, and is counted as a person.
    const owner = agentId ?? known.personId ?? nilUuid;
    await countAgainst({ clientId: owner });
    const result = await db.transaction(async (tx): Promise<string | Refused> => {
      const eligibility = agentId === null ? undefined : await lockEligibility(tx, agentId);
      const maker = await lockSession(tx, sessionId, timesAt(now));
      // Of requests with the same code at the same moment, one deletes the row.
      const isFirst = await takeCode(tx, codeHash, new Date(now));
      const problem = eligibility?.problem ?? (isFirst ? undefined : wrongCode);
      if (!maker || problem !== undefined)
        return { agentId: agentId ?? nilUuid, reason: problem ?? wrongCode, eligibility };
      const { organizationId, scopes, credentialId, connectionId, person } = maker;
      return sessions.create(tx, origin, {
        method: 'command-line',
        agentId,
        organizationId,
        scopes,
        maker,
        credentialId: credentialId ?? undefined,
        connectionId: connectionId ?? undefined,
        person: person ? actingPerson(person) : undefined,
      });
    });
    return typeof result === 'string' ? result : refuse(request, 'command-line', result);
  };

  return async (request) => {
    sessions.requireSafeCookies();
    const { clientId, clientSecret, code, codeVerifier } = request.body;
    if (code !== undefined && clientId === undefined && clientSecret === undefined) {
      if (code.startsWith(codePrefix)) return byCode(request, code, codeVerifier);
      if (codeVerifier === undefined) return byLink(request, code);
    }
    if (
      code === undefined &&
      codeVerifier === undefined &&
      clientId !== undefined &&
      clientSecret !== undefined
    )
      return bySecret(request, clientId, clientSecret);
    throw validationError('body', [
      { in: 'body', field: '', message: 'must have clientId and clientSecret, or code' },
    ]);
  };
}

const sentence = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
