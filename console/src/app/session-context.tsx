/** The session of this tab: loads it, notices its end, and warns before it expires. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import type { Scope } from '../api/generated.ts';
import { onRequestEvent } from '../api/request.ts';
import {
  fetchSession,
  fetchSignInOptions,
  type Session,
  type SessionAnswer,
  signOut as sendSignOut,
} from '../api/session.ts';
import { isAdmin } from './page.ts';
import { takeCode } from './sign-in-address.ts';
import { onTabMessage, tellOtherTabs } from './tabs.ts';

interface SessionState {
  /** Undefined while it loads; null without one. */
  readonly session: Session | null | undefined;
  /** The session that has just ended. Its pages stay, so that nothing typed is lost. */
  readonly ended: Session | undefined;
  /** Why there is none, although the browser has a cookie. */
  readonly hint: string | undefined;
  readonly error: Error | null;
  /** Asks the server again: after sign-in, and to stay signed in. */
  readonly refresh: () => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** The code of a one-time link that was opened in this tab, until it is used or dismissed. */
  readonly linkCode: string | undefined;
  readonly dropLinkCode: () => void;
}

const SessionContext = createContext<SessionState | undefined>(undefined);
const queryKey = ['session'];

const isSameIdentity = (one: Session, other: Session): boolean =>
  one.agentId === other.agentId && one.person?.personId === other.person?.personId;

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const { data: answer, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => fetchSession(signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const { session, hint } = answer ?? {};
  // The session of the pages on display. It stays when any answer says that there is none.
  const [shown, setShown] = useState<Session>();
  // Another agent or person must see nothing of the one before.
  const isOther = Boolean(session && shown && !isSameIdentity(session, shown));
  if (session && session !== shown && !isOther) setShown(session);
  const ended = session === null ? shown : undefined;
  const hasEnded = ended !== undefined;

  useEffect(() => {
    if (isOther) location.reload();
  }, [isOther]);

  useEffect(() => {
    if (!hasEnded) return;
    tellOtherTabs('session-ended');
    // After the next sign-in.
    return () =>
      void client.invalidateQueries({ predicate: ({ queryKey: [first] }) => first !== queryKey[0] });
  }, [client, hasEnded]);

  useEffect(
    () =>
      onRequestEvent((event) => {
        if (event.type === 'unauthorized') client.setQueryData<SessionAnswer>(queryKey, { session: null });
        // It repeats this request until the server answers, also when what has failed was no read.
        if (event.type === 'offline') void client.refetchQueries({ queryKey }, { cancelRefetch: false });
      }),
    [client],
  );

  const refresh = useCallback(async () => {
    await client.fetchQuery({ queryKey, queryFn: () => fetchSession(), staleTime: 0 });
  }, [client]);

  // A person who comes back may have signed in or out in another tab.
  useEffect(() => {
    const check = () => void refresh().catch(() => undefined);
    addEventListener('focus', check);
    return () => removeEventListener('focus', check);
  }, [refresh]);

  useEffect(
    () =>
      onTabMessage((message) => {
        if (message === 'signed-out') location.reload();
        else if (!hasEnded) void refresh().catch(() => undefined);
      }),
    [refresh, hasEnded],
  );

  const [linkCode, setLinkCode] = useState<string>();
  useEffect(() => {
    // Also when the link is pasted into the address bar of an open console.
    const take = () => setLinkCode((before) => takeCode() ?? before);
    take();
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  const dropLinkCode = useCallback(() => setLinkCode(undefined), []);

  const signOut = useCallback(async () => {
    await sendSignOut();
    tellOtherTabs('signed-out');
    // A new document has nothing of the session in its memory.
    location.assign('/console');
  }, []);

  const state = useMemo(
    () => ({
      session: isOther ? undefined : session,
      ended,
      hint,
      error,
      refresh,
      signOut,
      linkCode,
      dropLinkCode,
    }),
    [isOther, session, ended, hint, error, refresh, signOut, linkCode, dropLinkCode],
  );
  return <SessionContext value={state}>{children}</SessionContext>;
}

export function useSessionState(): SessionState {
  const state = useContext(SessionContext);
  if (!state) throw new Error('useSessionState needs SessionProvider');
  return state;
}

/** The session on a page. Pages are only shown with one (or with the one that has just ended, behind the sign-in dialog). */
export function useSession(): Session {
  const { session, ended } = useSessionState();
  const current = session ?? ended;
  if (!current) throw new Error('useSession is for pages, which need a session');
  return current;
}

/** Whether the session holds a scope: to hide actions that the API would refuse. */
export function useCan(): (scope: Scope) => boolean {
  const { scopes } = useSession();
  return useCallback((scope) => scopes.includes(scope), [scopes]);
}

/** Whether the session may lend the scopes of other agents: an admin that may change agents. The API checks the agent. */
export function useMayLendForOthers(): boolean {
  const session = useSession();
  const mayChange = ['agents:read', 'agents:write'].every((scope) => session.scopes.includes(scope));
  return mayChange && isAdmin(session);
}

/** The OpenID provider of the instance; null without one, undefined while it loads. */
export function useProvider(): { readonly issuer: string; readonly name: string } | null | undefined {
  const { data } = useQuery({
    queryKey: ['signInOptions'],
    queryFn: ({ signal }) => fetchSignInOptions(signal),
  });
  return data?.oidc;
}
