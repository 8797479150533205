/** Sessions: begin, authenticate requests, and end. */

import { limits } from '../../../contract/limits.ts';
import { scopes as allScopes, type Scope } from '../../../contract/scopes.ts';
import { type Actor, actingPerson, type Caller, type Origin, type Person } from '../../../kernel/caller.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import type { Identity } from '../../../kernel/http/access/identity.ts';
import type { SessionDeps } from '../../../kernel/http/access/session-requests.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { hashSecret } from '../../../kernel/secrets.ts';
import type { ConsoleDeps } from '../feature.ts';
import type { Session } from '../schema.ts';
import type { SessionCookie } from './cookie.ts';
import {
  deleteSession,
  deleteSessionsOf,
  type EndedSession,
  findSession,
  insertSession,
  type StoredSession,
  type Times,
  touchSession,
} from './store.ts';

export type SignInMethod = 'client' | 'link' | 'oidc' | 'command-line';

interface NewSession {
  readonly method: SignInMethod;
  /** Null for a member. */
  readonly agentId: string | null;
  readonly organizationId: string;
  /** The session has these, as far as the agent may hold them at the time of a request. */
  readonly scopes: readonly Scope[];
  /** The session ends with it. */
  readonly credentialId?: string | undefined;
  /** The key that the client proved to hold; for the ledger. */
  readonly keyId?: string | undefined;
  /** The session ends with the person too. */
  readonly person?: Person | undefined;
  /** The session ends with the connection that it began through. */
  readonly connectionId?: string | undefined;
  /** The session whose code begins this one: signing out of it ends both, and this one ends no later. */
  readonly maker?: { readonly sessionId: string; readonly expiresAt: string };
}

/** The sessions that end together. */
export type SessionOwner =
  | { readonly agentId: string }
  | { readonly organizationId: string }
  | { readonly credentialId: string }
  | { readonly connectionId: string }
  | { readonly personId: string };

interface RefusedSignIn {
  readonly method: SignInMethod;
  readonly reason: string;
  /** Nil UUIDs when they are not known. */
  readonly agentId: string;
  readonly organizationId: string;
}

/** Sessions for other ways to sign in. */
export interface Sessions {
  /** Why no session can begin on this instance: a cookie would travel unencrypted. */
  readonly cookieProblem: string | undefined;
  /** FORBIDDEN with that problem. */
  requireSafeCookies(): void;
  /**
   * Begins a session, and records it in the same transaction. The caller has authenticated the person or the client, and has locked
   * the agent. Returns the value of `Set-Cookie`. The session in `cookies`, the header `Cookie` of the request, ends.
   */
  create(tx: Tx, origin: Origin, session: NewSession, cookies?: string): Promise<string>;
  /** Ends all sessions of the owner. */
  endAll(tx: Tx, actor: Actor, owner: SessionOwner, reason: string): Promise<void>;
  /** Records `session.refused`, within the limits of refusals. */
  recordRefusal(origin: Origin, refused: RefusedSignIn): Promise<void>;
}

export interface SessionService
  extends Sessions,
    Pick<SessionDeps, 'authenticateSession' | 'explainNoSession'> {
  /** The session of the cookie. */
  require(cookies: string): Promise<StoredSession>;
  /** For the page: who has signed in. */
  describe(caller: Caller, cookies: string): Promise<Session>;
  /** Ends the session of the cookie, if there is one. Returns the value of `Set-Cookie`. */
  signOut(actor: Actor, cookies: string | undefined): Promise<string>;
}

/** Browsers keep cookies by host: ports do not separate them. */
const sharedByPorts =
  'If another instance of Countersign runs on this host at another port, signing in there has replaced the cookie of this one: use another name for each, such as localhost and 127.0.0.1.';

const { idleSeconds, sessionSeconds } = limits.console;
/** `last_used_at` is written at most this often. */
const touchMs = 60_000;

export const timesAt = (now: number): Times => ({
  now: new Date(now),
  idleSince: new Date(now - idleSeconds * 1_000),
});

export function createSessionService(deps: ConsoleDeps, cookie: SessionCookie): SessionService {
  const { db, clock, ids, ledger, recordRefusal, roleOf, settings } = deps;

  const find = async (cookies: string): Promise<StoredSession | undefined> => {
    const secret = cookie.read(cookies);
    return secret === undefined ? undefined : findSession(db, hashSecret(secret), timesAt(clock.now()));
  };

  const recordEnd = (tx: Tx, actor: Actor, ended: readonly EndedSession[], reason: string) =>
    ledger.recordAll(
      tx,
      ended.map((session) => ({ actor, type: 'session.ended', subject: subjectOf(session, { reason }) })),
    );

  const end = async (tx: Tx, actor: Actor, cookies: string | undefined, reason: string): Promise<void> => {
    const secret = cookies === undefined ? undefined : cookie.read(cookies);
    const ended = secret === undefined ? [] : await deleteSession(tx, hashSecret(secret));
    const [first] = ended;
    if (!first) return;
    // The person of the session ends it, also by a sign-in as another.
    const person = first.person ? actingPerson(first.person) : undefined;
    await recordEnd(tx, { ...actor, agentId: first.agentId ?? nilUuid, person }, ended, reason);
  };

  /** After the guard has found the session, a moment ago. */
  const require = async (cookies: string): Promise<StoredSession> =>
    (await find(cookies)) ?? fail('UNAUTHORIZED');

  return {
    cookieProblem: cookie.problem,
    require,

    requireSafeCookies() {
      if (cookie.problem !== undefined) fail('FORBIDDEN', { message: cookie.problem });
    },

    async create(tx, origin, session, cookies) {
      const { method, agentId, organizationId, scopes, credentialId, keyId, person, connectionId, maker } =
        session;
      await end(tx, origin, cookies, 'signed in again');
      const secret = ids.secret('');
      const sessionId = ids.uuid();
      const now = new Date(clock.now());
      const expiresAt = new Date(maker?.expiresAt ?? clock.now() + sessionSeconds * 1_000);
      await insertSession(tx, {
        sessionId,
        method,
        agentId,
        organizationId,
        scopes,
        now,
        expiresAt,
        secretHash: hashSecret(secret),
        credentialId: credentialId ?? null,
        personId: person?.personId ?? null,
        connectionId: connectionId ?? null,
        madeBy: maker?.sessionId ?? null,
      });
      await ledger.record(
        tx,
        {
          ...origin,
          agentId: agentId ?? nilUuid,
          ...{ organizationId, credentialId, keyId, person, sessionId: maker?.sessionId },
        },
        'session.created',
        subjectOf(
          { sessionId, method, agentId, organizationId },
          {
            scopes,
            expiresAt: expiresAt.toISOString(),
            ...(credentialId !== undefined && { credentialId }),
            ...(connectionId !== undefined && { connectionId }),
            ...(maker && { madeBy: maker.sessionId }),
          },
        ),
      );
      return cookie.set(secret);
    },

    async endAll(tx, actor, owner, reason) {
      await recordEnd(tx, actor, await deleteSessionsOf(tx, owner), reason);
    },

    recordRefusal: (origin, { method, reason, agentId, organizationId }) =>
      recordRefusal({
        actor: origin,
        type: 'session.refused',
        subject: { agentId, organizationId, outcome: 'failure', metadata: { method, reason } },
      }),

    async authenticateSession(cookies, { isUse }) {
      const session = await find(cookies);
      if (!session) return undefined;
      const now = clock.now();
      if (isUse && now - Date.parse(session.lastUsedAt) >= touchMs)
        await touchSession(db, session.sessionId, new Date(now));
      return identityOf(session);
    },

    explainNoSession(cookies) {
      if (cookies === undefined || !cookie.isIn(cookies)) return { message: 'Sign in to the console first.' };
      const ended = 'Your session has ended: sign in again.';
      if (!cookie.isSharedByPorts) return { message: ended };
      return { message: `${ended} ${sharedByPorts}`, details: { cookie: 'unknown' } };
    },

    async describe(caller, cookies) {
      const session = await require(cookies);
      const { person } = session;
      return {
        agentId: session.agentId,
        agentName: session.agentName,
        organizationId: session.organizationId,
        organizationName: session.organizationName,
        organizationSlug: session.organizationSlug,
        planTier: session.planTier,
        role: person?.role ?? (await roleOf(caller)),
        scopes: scopesOf(session),
        person: person && { personId: person.personId, name: person.name, email: person.email },
        expiresAt: session.expiresAt,
        multiTenant: settings.multiTenant,
        dev: settings.dev,
      };
    },

    async signOut(actor, cookies) {
      await db.transaction((tx) => end(tx, actor, cookies, 'signed out'));
      return cookie.cleared;
    },
  };
}

const subjectOf = (
  { sessionId, method, agentId, organizationId }: Omit<EndedSession, 'person'>,
  facts: object,
) => ({
  organizationId,
  agentId: agentId ?? nilUuid,
  metadata: { sessionId, method, ...facts },
});

/** What the session began with, as far as the agent may hold it now; a viewer changes nothing, and a member has no agent. */
function scopesOf({ scopes, allowedScopes, person }: StoredSession): Scope[] {
  const held = allScopes.filter((scope) => scopes.includes(scope) && allowedScopes?.includes(scope));
  return person?.role === 'viewer' ? held.filter((scope) => scope.endsWith(':read')) : held;
}

/** For the guard. The query finds sessions of active organizations only. */
function identityOf(session: StoredSession): Identity {
  const { sessionId, agentId, organizationId, planTier, rateLimitPerMinute, person } = session;
  const scopes = new Set(scopesOf(session));
  return {
    sessionId,
    agentId: agentId ?? nilUuid,
    organizationId,
    organizationStatus: 'active',
    planTier,
    rateLimitPerMinute,
    scopes,
    grantableScopes: scopes,
    ...(person && { person: actingPerson(person) }),
  };
}
