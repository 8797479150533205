/**
 * Signing in through an OpenID provider: the instance's own, or that of a connection. `start` sends the browser to the provider; `finish`
 * verifies the answer and creates the session. A connection belongs to one organization (people/admission.ts). The instance's own provider
 * serves them all: a person who was invited to several, or to one that the person has never used, chooses or declines, because anyone can
 * found an organization of the same name and invite people to it. A person without an invitation sees the own issuer and subject, which
 * an admin needs for an invitation.
 */

import { limits } from '../../../contract/limits.ts';
import type { Scope } from '../../../contract/scopes.ts';
import { actingPerson, type Origin } from '../../../kernel/caller.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import type { Cookies } from '../../../kernel/http/input/secret-cookie.ts';
import { anonymous, isUuid, nilUuid } from '../../../kernel/ids.ts';
import {
  loggedSubject,
  type OpenIdProvider,
  ProviderProblem,
  type SignInPrompt,
  type ProviderIdentity as VerifiedIdentity,
} from '../../../kernel/ports/openid-provider.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { ConnectionProvider } from '../../connections/providers.ts';
import type { Invitation, SignedInPerson } from '../../people/service.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Sessions } from '../sessions/service.ts';
import { returnPath } from './return-path.ts';
import type { ProviderIdentity, SignInOptions } from './schema.ts';
import { createSignInCookie, secretsOf } from './secrets.ts';
import { errorOf, errorOfRefusal, type SignInError, SignInRefused } from './sign-in-errors.ts';
import {
  type BegunSignIn,
  findIdentity,
  type Identity,
  insertSignIn,
  takeAnswer,
  takeIdentity,
  updateIdentity,
} from './store.ts';
import { type ConnectionTests, createConnectionTests, testPage } from './test-connection.ts';

/** The next address of the browser, and the cookies that the answer sets. */
export interface Step {
  readonly location: string;
  readonly cookies: readonly string[];
}

/** Of the query; a value may be missing or malformed. */
interface StartRequest {
  readonly returnTo: unknown;
  /** Without it: the instance's own provider. */
  readonly connectionId: unknown;
  /** The authorization request that the sign-in continues. */
  readonly requestId: unknown;
  /** `select_account`: for another person than that of the session at the provider. */
  readonly prompt: unknown;
  readonly site: unknown;
  readonly cookies: Cookies;
}

export interface ProviderSignInService extends Omit<ConnectionTests, 'finishTest'> {
  options(): SignInOptions;
  start(origin: Origin, request: StartRequest): Promise<Step>;
  finish(origin: Origin, cookies: Cookies, query: URLSearchParams): Promise<Step>;
  /** UNAUTHORIZED unless the provider has confirmed an identity to this browser. */
  identity(cookies: Cookies): Promise<ProviderIdentity>;
  /** Returns the cookies to set. */
  choose(origin: Origin, cookies: Cookies, personId: string): Promise<readonly string[]>;
  /** PERSON_NOT_FOUND unless the person has an invitation of this id, and has never used it. */
  decline(origin: Origin, cookies: Cookies, personId: string): Promise<void>;
}

const signInPage = '/console/sign-in';

const errorPageOf = ({ testerId }: BegunSignIn): string => (testerId === null ? signInPage : testPage);

const uuidIn = (value: unknown): string | undefined =>
  typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined;

export function createProviderSignIn(
  deps: ConsoleDeps,
  sessions: Pick<Sessions, 'create' | 'cookieProblem' | 'requireSafeCookies'>,
): ProviderSignInService {
  const { db, clock, ids, log, settings, provider, people, lockEligibility, recordRefusal } = deps;
  const { connections, continueRequest, findRequestPrompt } = deps;
  const { findInvitations, recordSignIn } = people;
  const cookie = createSignInCookie(settings.baseUrl);
  const now = () => new Date(clock.now());

  const failed = (
    error: SignInError,
    { requestId }: Origin,
    cookies: readonly string[] = [],
    page = signInPage,
  ): Step => ({ location: `${page}?${new URLSearchParams({ error, requestId })}`, cookies });

  /** In the log of the organization of the connection or the invitation, otherwise in that of the instance. */
  const refuse = (
    origin: Origin,
    metadata: Record<string, unknown>,
    subject: { organizationId: string; agentId?: string | null } = anonymous,
  ) => {
    const { organizationId } = subject;
    const agentId = subject.agentId ?? nilUuid;
    return recordRefusal({
      actor: origin,
      type: 'session.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { method: 'oidc', ...metadata } },
    });
  };

  const problem = async (
    error: unknown,
    origin: Origin,
    connection?: ConnectionProvider,
  ): Promise<SignInError> => {
    if (!(error instanceof ProviderProblem)) throw error;
    const { reason, message } = error;
    log.warn({ reason, detail: message, requestId: origin.requestId }, 'sign-in through the provider failed');
    if (reason === 'invalid') {
      const metadata = connection && { connectionId: connection.connectionId };
      await refuse(origin, { reason: 'invalid answer of the provider', ...metadata }, connection);
    }
    return errorOf[reason];
  };

  /** The scopes of a session through the agent, which stay so until the transaction ends; undefined unless it is active. */
  const lockScopes = async (tx: Tx, agentId: string | null): Promise<readonly Scope[] | undefined> => {
    if (agentId === null) return [];
    const eligibility = await lockEligibility(tx, agentId);
    return eligibility?.problem === undefined ? eligibility?.scopes : undefined;
  };

  const createSession = (
    tx: Tx,
    origin: Origin,
    signedIn: SignedInPerson,
    begun: { scopes: readonly Scope[]; cookies: Cookies; connectionId?: string },
  ): Promise<string> => {
    const { scopes, cookies, connectionId } = begun;
    const { agentId, organizationId } = signedIn;
    const person = actingPerson(signedIn);
    const session = { method: 'oidc', agentId, organizationId, scopes, person, connectionId } as const;
    return sessions.create(tx, origin, session, cookies);
  };

  /** Undefined when the person was removed or suspended, or the agent or organization suspended, since the invitations were read. */
  const signIn = (
    origin: Origin,
    { personId, agentId }: Invitation,
    cookies: Cookies,
    /** Ends the sign-in, with the session that begins. */
    finish: (tx: Tx) => Promise<unknown> = async () => undefined,
  ): Promise<string | undefined> =>
    db.transaction(async (tx) => {
      await finish(tx);
      const scopes = await lockScopes(tx, agentId);
      if (!scopes) return undefined;
      const person = await recordSignIn(tx, personId);
      return person?.agentId === agentId ? createSession(tx, origin, person, { scopes, cookies }) : undefined;
    });

  const usableOf = async ({ issuer, subject }: Identity): Promise<Invitation[]> =>
    (await findInvitations(db, issuer, subject)).filter(({ usable }) => usable);

  const refuseUninvited = async (origin: Origin, { issuer, subject }: Identity): Promise<SignInError> => {
    const [first] = await findInvitations(db, issuer, subject);
    const identity = { issuer: issuer.slice(0, 1_024), subject: loggedSubject(subject) };
    if (!first) {
      await refuse(origin, { reason: 'not invited', ...identity });
      return 'not_invited';
    }
    const { personId, name, suspended } = first;
    const reason = suspended ? 'person suspended' : 'agent or organization not active';
    await refuse(origin, { reason, person: { personId, name } }, first);
    return suspended ? 'person_suspended' : 'not_invited';
  };

  /** The browser's next page is the console, or that of the authorization request. */
  const proceed = async (
    origin: Origin,
    { returnTo, requestId }: BegunSignIn,
    { personId, session }: { personId: string; session: string },
    cookies: Cookies,
  ): Promise<Step> => ({
    location: requestId === null ? returnTo : await continueRequest({ requestId, personId, cookies, origin }),
    cookies: [session, cookie.cleared],
  });

  const finishThrough = async (
    origin: Origin,
    begun: BegunSignIn,
    connection: ConnectionProvider,
    identity: VerifiedIdentity,
    cookies: Cookies,
  ): Promise<Step> => {
    const { connectionId, organizationId } = connection;
    try {
      const signedIn = await db.transaction(async (tx) => {
        const admission = await people.admit(tx, origin, connection, identity);
        if ('refused' in admission)
          throw new SignInRefused(errorOfRefusal[admission.refused], {
            reason: admission.refused,
            ...admission.details,
          });
        const { person } = admission;
        const scopes = await lockScopes(tx, person.agentId);
        if (!scopes)
          throw new SignInRefused('not_invited', { reason: 'agent not active', personId: person.personId });
        const session = await createSession(tx, origin, person, { scopes, cookies, connectionId });
        return { personId: person.personId, session };
      });
      return await proceed(origin, begun, signedIn, cookies);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      const { issuer, subject } = identity;
      const metadata = { connectionId, issuer: issuer.slice(0, 1_024), subject: loggedSubject(subject) };
      await refuse(origin, { ...metadata, ...error.metadata }, { organizationId });
      return failed(error.error, origin, [cookie.cleared]);
    }
  };

  /** Sends the browser to the provider, with a new cookie. */
  const begin = async (
    origin: Origin,
    source: () => OpenIdProvider,
    signIn: BegunSignIn,
    prompt: SignInPrompt = {},
  ): Promise<Step> => {
    const value = ids.secret('');
    try {
      const location = await source().authorizationUrl(secretsOf(value), prompt);
      const expiresAt = new Date(clock.now() + limits.providerSignInSeconds * 1_000);
      await insertSignIn(db, { ...signIn, hash: hashSecret(value), expiresAt });
      return { location, cookies: [cookie.set(value)] };
    } catch (error) {
      return failed(await problem(error, origin), origin, [], errorPageOf(signIn));
    }
  };

  /** For a client that wants a new sign-in: the person must have signed in since this one began. */
  const maxAgeOf = async (
    { requestId, expiresAt }: BegunSignIn & { expiresAt: string },
    cookies: Cookies,
  ): Promise<number | undefined> => {
    const asked = requestId === null ? undefined : await findRequestPrompt(requestId, cookies);
    const begunAt = Date.parse(expiresAt) - limits.providerSignInSeconds * 1_000;
    return asked?.reauthenticate ? Math.ceil((clock.now() - begunAt) / 1_000) : undefined;
  };

  const requireIdentity = (found: Identity | undefined): Identity =>
    found ??
    fail('UNAUTHORIZED', {
      message: 'The sign-in took too long, or is over: begin again on the sign-in page.',
    });

  /** The sign-in of this browser, and the invitation of its person with this id. */
  const invitationOf = async (cookies: Cookies, personId: string) => {
    const hash = cookie.hashIn(cookies);
    const known = requireIdentity(hash && (await findIdentity(db, hash, now())));
    const invitation = (await usableOf(known)).find((one) => one.personId === personId.toLowerCase());
    return { hash, invitation };
  };

  const { startTest, finishTest, findTest } = createConnectionTests(deps, sessions, { begin, cookie });

  return {
    options: () => ({ oidc: provider ? { issuer: provider.issuer, name: provider.name } : null }),

    async start(origin, { returnTo, site, cookies, ...wanted }) {
      const requestId = uuidIn(wanted.requestId);
      if (sessions.cookieProblem !== undefined) return failed('not_configured', origin);
      // Another origin must not sign a person in, not even as that person, except for a request that this browser has begun.
      const isForeign = site === 'cross-site' || site === 'same-site';
      const asked = requestId && (await findRequestPrompt(requestId, cookies));
      if (isForeign && !asked)
        return provider || wanted.connectionId !== undefined
          ? { location: signInPage, cookies: [] }
          : failed('not_configured', origin);
      const signIn = {
        returnTo: requestId === undefined ? returnPath(returnTo) : `/console/authorize/${requestId}`,
        requestId: requestId ?? null,
        testerId: null,
      };
      const prompt =
        wanted.prompt === 'select_account'
          ? { ...asked, loginHint: undefined, switchAccount: true }
          : { ...asked };
      if (wanted.connectionId === undefined)
        return provider
          ? begin(origin, () => provider, { ...signIn, connectionId: null }, prompt)
          : failed('not_configured', origin);
      const connectionId = uuidIn(wanted.connectionId);
      const connection =
        connectionId === undefined ? undefined : await connections.findProvider(db, connectionId);
      return connection?.usable
        ? begin(origin, connection.provider, { ...signIn, connectionId: connection.connectionId }, prompt)
        : failed('connection_unavailable', origin);
    },

    async finish(origin, cookies, query) {
      const value = cookie.read(cookies);
      // A provider sends `state`: that of a connection, where the instance has no provider of its own.
      const isAnswer = provider !== undefined || query.has('state');
      if (value === undefined) return failed(isAnswer ? 'sign_in_expired' : 'not_configured', origin);
      const secrets = secretsOf(value);
      // Before the sign-in is used up: another site may send the browser here.
      if (query.get('state') !== secrets.state) {
        await refuse(origin, { reason: 'state of another sign-in' });
        return failed('invalid_answer', origin);
      }
      const hash = hashSecret(value);
      const begun = await takeAnswer(db, hash, now());
      if (!begun) return failed('sign_in_expired', origin, [cookie.cleared]);
      const { connectionId, testerId } = begun;
      const connection = connectionId === null ? undefined : await connections.findProvider(db, connectionId);
      try {
        // The answer is verified against the provider that the sign-in began with, so that of another one is of no use.
        const source = connectionId === null ? provider : connection?.provider();
        if (!source || (connection && !connection.usable && testerId === null))
          return failed('connection_unavailable', origin, [cookie.cleared]);
        const identity = await source.identify(query, secrets, await maxAgeOf(begun, cookies));
        if (testerId !== null) return await finishTest(hash, identity);
        if (connection) return await finishThrough(origin, begun, connection, identity, cookies);
        const invitations = await usableOf(identity);
        const [first, ...others] = invitations;
        const only = others.length === 0 ? first : undefined;
        if (only && !only.firstVisit) {
          const session = await signIn(origin, only, cookies);
          if (session !== undefined)
            return await proceed(origin, begun, { personId: only.personId, session }, cookies);
        }
        await updateIdentity(db, hash, identity);
        if (others.length === 0 && !only?.firstVisit)
          return failed(await refuseUninvited(origin, identity), origin);
        const choice = new URLSearchParams({ choose: 'organization', returnTo: begun.returnTo });
        return { location: `${signInPage}?${choice}`, cookies: [] };
      } catch (error) {
        const reason = await problem(error, origin, connection);
        return failed(reason, origin, [cookie.cleared], errorPageOf(begun));
      }
    },

    startTest,
    findTest,

    async identity(cookies) {
      const hash = cookie.hashIn(cookies);
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
      return [session, cookie.cleared];
    },
  };
}
