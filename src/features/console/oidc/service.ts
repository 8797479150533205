/**
 * Signing in through the OpenID provider. `start` sends the browser to the provider; `finish` verifies the answer and creates the session.
 * A person who was invited to several organizations, or to one that the person has never used, chooses or declines: anyone can found an
 * organization of the same name and invite people to it. A person without an invitation sees the own issuer and subject, which an
 * admin needs for an invitation.
 */

import { limits } from '../../../contract/limits.ts';
import type { Origin } from '../../../kernel/caller.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { anonymous } from '../../../kernel/ids.ts';
import { ProviderProblem, type ProviderReason } from '../../../kernel/ports/openid-provider.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { Invitation } from '../../people/service.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Sessions } from '../sessions/service.ts';
import { returnPath } from './return-path.ts';
import type { ProviderIdentity, SignInOptions } from './schema.ts';
import { createSignInCookie, secretsOf } from './secrets.ts';
import {
  findIdentity,
  type Identity,
  insertSignIn,
  takeAnswer,
  takeIdentity,
  updateIdentity,
} from './store.ts';

/** The reasons that the sign-in page explains. */
const signInErrors = [
  'not_configured',
  'provider_unavailable',
  'provider_refused',
  'invalid_answer',
  'sign_in_expired',
  'not_invited',
] as const;
type SignInError = (typeof signInErrors)[number];

const errorOf: Readonly<Record<ProviderReason, SignInError>> = {
  unavailable: 'provider_unavailable',
  refused: 'provider_refused',
  invalid: 'invalid_answer',
};

/** The header `Cookie`. */
type Cookies = string | undefined;

/** The next address of the browser, and the cookies that the answer sets. */
export interface Step {
  readonly location: string;
  readonly cookies: readonly string[];
}

export interface ProviderSignInService {
  options(): SignInOptions;
  start(origin: Origin, request: { returnTo: unknown; site: unknown }): Promise<Step>;
  finish(origin: Origin, cookies: Cookies, query: URLSearchParams): Promise<Step>;
  /** UNAUTHORIZED unless the provider has confirmed an identity to this browser. */
  identity(cookies: Cookies): Promise<ProviderIdentity>;
  /** Returns the cookies to set. */
  choose(origin: Origin, cookies: Cookies, personId: string): Promise<readonly string[]>;
  /** PERSON_NOT_FOUND unless the person has an invitation of this id, and has never used it. */
  decline(origin: Origin, cookies: Cookies, personId: string): Promise<void>;
}

const signInPage = '/console/sign-in';

export function createProviderSignIn(
  deps: ConsoleDeps,
  sessions: Pick<Sessions, 'create' | 'cookieProblem'>,
): ProviderSignInService {
  const { db, clock, ids, log, settings, provider, people, lockEligibility, recordRefusal } = deps;
  const { findInvitations, recordSignIn } = people;
  const cookie = createSignInCookie(settings.baseUrl);
  const now = () => new Date(clock.now());

  const failed = (error: SignInError, { requestId }: Origin, cookies: readonly string[] = []): Step => ({
    location: `${signInPage}?${new URLSearchParams({ error, requestId })}`,
    cookies,
  });

  /** In the log of the organization that has invited the person, otherwise in that of the instance. */
  const refuse = (
    origin: Origin,
    metadata: Record<string, unknown>,
    subject: { organizationId: string; agentId: string } = anonymous,
  ) => {
    const { organizationId, agentId } = subject;
    return recordRefusal({
      actor: origin,
      type: 'session.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { method: 'oidc', ...metadata } },
    });
  };

  const problem = async (error: unknown, origin: Origin): Promise<SignInError> => {
    if (!(error instanceof ProviderProblem)) throw error;
    const { reason, message } = error;
    log.warn({ reason, detail: message, requestId: origin.requestId }, 'sign-in through the provider failed');
    if (reason === 'invalid') await refuse(origin, { reason: 'invalid answer of the provider' });
    return errorOf[reason];
  };

  /** Undefined when the person was removed, or the agent or organization suspended, since the invitations were read. */
  const signIn = (
    origin: Origin,
    { personId, agentId }: Invitation,
    cookies: Cookies,
    /** Ends the sign-in, with the session that begins. */
    finish: (tx: Tx) => Promise<unknown> = async () => undefined,
  ): Promise<string | undefined> =>
    db.transaction(async (tx) => {
      await finish(tx);
      const eligibility = await lockEligibility(tx, agentId);
      if (!eligibility || eligibility.problem !== undefined) return undefined;
      const person = await recordSignIn(tx, personId);
      if (person?.agentId !== agentId) return undefined;
      const { organizationId, scopes } = eligibility;
      const role = person.role === 'admin' ? 'admin' : 'none';
      return sessions.create(
        tx,
        origin,
        { method: 'oidc', agentId, organizationId, scopes, person: { personId, name: person.name, role } },
        cookies,
      );
    });

  const usableOf = async ({ issuer, subject }: Identity): Promise<Invitation[]> =>
    (await findInvitations(db, issuer, subject)).filter(({ usable }) => usable);

  const refuseUninvited = async (origin: Origin, { issuer, subject }: Identity): Promise<SignInError> => {
    const [first] = await findInvitations(db, issuer, subject);
    const identity = { issuer: issuer.slice(0, 1_024), subject: subject.slice(0, 255) };
    if (!first) await refuse(origin, { reason: 'not invited', ...identity });
    else {
      const { personId, name } = first;
      await refuse(origin, { reason: 'agent or organization not active', person: { personId, name } }, first);
    }
    return 'not_invited';
  };

  const hashOf = (cookies: Cookies): Buffer | undefined => {
    const value = cookie.read(cookies);
    return value === undefined ? undefined : hashSecret(value);
  };

  const requireIdentity = (found: Identity | undefined): Identity =>
    found ??
    fail('UNAUTHORIZED', {
      message: 'The sign-in took too long, or is over: begin again on the sign-in page.',
    });

  /** The sign-in of this browser, and the invitation of its person with this id. */
  const invitationOf = async (cookies: Cookies, personId: string) => {
    const hash = hashOf(cookies);
    const known = requireIdentity(hash && (await findIdentity(db, hash, now())));
    const invitation = (await usableOf(known)).find((one) => one.personId === personId.toLowerCase());
    return { hash, invitation };
  };

  return {
    options: () => ({ oidc: provider ? { issuer: provider.issuer, name: provider.name } : null }),

    async start(origin, { returnTo, site }) {
      if (!provider || sessions.cookieProblem !== undefined) return failed('not_configured', origin);
      // Another origin must not sign a person in, not even as that person.
      if (site === 'cross-site' || site === 'same-site') return { location: signInPage, cookies: [] };
      const value = ids.secret('');
      try {
        const location = await provider.authorizationUrl(secretsOf(value));
        const expiresAt = new Date(clock.now() + limits.providerSignInSeconds * 1_000);
        await insertSignIn(db, { hash: hashSecret(value), returnTo: returnPath(returnTo), expiresAt });
        return { location, cookies: [cookie.set(value)] };
      } catch (error) {
        return failed(await problem(error, origin), origin);
      }
    },

    async finish(origin, cookies, query) {
      if (!provider) return failed('not_configured', origin);
      const value = cookie.read(cookies);
      if (value === undefined) return failed('sign_in_expired', origin);
      const secrets = secretsOf(value);
      // Before the sign-in is used up: another site may send the browser here.
      if (query.get('state') !== secrets.state) {
        await refuse(origin, { reason: 'state of another sign-in' });
        return failed('invalid_answer', origin);
      }
      const hash = hashSecret(value);
      const begun = await takeAnswer(db, hash, now());
      if (!begun) return failed('sign_in_expired', origin, [cookie.clear()]);
      try {
        const identity = await provider.identify(query, secrets);
        const invitations = await usableOf(identity);
        const [first, ...others] = invitations;
        const only = others.length === 0 ? first : undefined;
        if (only && !only.firstVisit) {
          const session = await signIn(origin, only, cookies);
          if (session !== undefined) return { location: begun.returnTo, cookies: [session, cookie.clear()] };
        }
        await updateIdentity(db, hash, identity);
        if (others.length === 0 && !only?.firstVisit)
          return failed(await refuseUninvited(origin, identity), origin);
        const choice = new URLSearchParams({ choose: 'organization', returnTo: begun.returnTo });
        return { location: `${signInPage}?${choice}`, cookies: [] };
      } catch (error) {
        return failed(await problem(error, origin), origin, [cookie.clear()]);
      }
    },

    async identity(cookies) {
      const hash = hashOf(cookies);
      const identity = requireIdentity(hash && (await findIdentity(db, hash, now())));
      const choices = await usableOf(identity);
      return { ...identity, choices };
    },

    async decline(origin, cookies, personId) {
      const { invitation } = await invitationOf(cookies, personId);
      if (!invitation || !(await people.decline(origin, invitation)))
        fail('PERSON_NOT_FOUND', { message: 'There is no open invitation of this id.' });
    },

    async choose(origin, cookies, personId) {
      const { hash, invitation: chosen } = await invitationOf(cookies, personId);
      if (!chosen) return fail('PERSON_NOT_FOUND', { message: 'You were not invited to this organization.' });
      // Of two requests at the same moment, one takes the row.
      const take = async (tx: Tx) => requireIdentity(hash && (await takeIdentity(tx, hash, now())));
      const session = (await signIn(origin, chosen, cookies, take)) ?? fail('PERSON_NOT_FOUND');
      return [session, cookie.clear()];
    },
  };
}
