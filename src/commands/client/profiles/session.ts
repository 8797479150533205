/**
 * A sign-in with a one-time code of the console, typed or brought by a browser: a session like that of a browser, whose requests go to the console's mirror of the
 * API. docs/decisions/015-console-sessions.md.
 */
import { initOf } from '../../../../sdk/typescript/src/request-rules.ts';
import { discard, readJson } from '../../../../sdk/typescript/src/response.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';
import { type Read, send } from '../http.ts';
import type { SessionProfile } from './profiles.ts';

/** What the server says about the session. */
interface SessionIdentity {
  /** Null for a member, who acts through no agent. */
  readonly agentId: string | null;
  readonly agentName: string | null;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly person: { readonly personId: string; readonly name: string } | null;
  readonly expiresAt: string;
}

type NamedSession = SessionProfile & { readonly profile?: string };

const maxAnswerBytes = 64 * 1024;

/** The console's own pages send the same, which pages of other sites cannot. */
const consoleHeaders = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

export const isCode = (text: string): boolean => text.startsWith('csc_');

/** `remedy` follows a 401: a session cannot be renewed. */
export function sessionAccess(account: NamedSession) {
  const { session, expiresAt } = account;
  if (Date.parse(expiresAt) <= Date.now())
    throw new CommandError(
      `the sign-in${ofProfile(account)} ended at ${quoted(expiresAt)}; run ${loginCommand(account)}`,
      exitCodes.notSignedIn,
    );
  return {
    headers: { ...consoleHeaders, cookie: session },
    remedy: remedyOf(account),
  };
}

const remedyOf = (account: Pick<NamedSession, 'profile'>): string =>
  `; the sign-in${ofProfile(account)} has ended: run ${loginCommand(account)}`;

const ofProfile = ({ profile }: Pick<NamedSession, 'profile'>): string =>
  profile === undefined ? '' : ` of profile ${profile}`;

const loginCommand = ({ profile }: Pick<NamedSession, 'profile'>): string =>
  `\`countersign login${profile === undefined ? '' : ` --profile ${profile}`}\``;

/** Uses the code up. A text of another kind, such as a client secret, is not sent. */
export async function redeemCode(
  url: string,
  code: string,
  codeVerifier?: string,
): Promise<SessionProfile & SessionIdentity> {
  if (!isCode(code))
    throw new CommandError(
      'this is not a one-time code, which begins with csc_: get one in the account menu of the console, under "Sign in to the command line"',
      exitCodes.usage,
    );
  const session = await send(
    sessionAt(url),
    initOf('POST', consoleHeaders, { code, codeVerifier }),
    async (response) => {
      discard(response);
      return response.headers
        .getSetCookie()
        .map((line) => line.split(';')[0] ?? '')
        .find((pair) => /^(?:__Host-)?countersign=[\w-]{43}$/.test(pair));
    },
  );
  if (session === undefined) throw notCountersign(url);
  return { ...(await fetchIdentity({ url, session })), url, session };
}

export async function fetchIdentity(
  account: Pick<NamedSession, 'url' | 'session' | 'profile'>,
): Promise<SessionIdentity> {
  const identity = await request(
    'GET',
    account,
    (response) => readJson(response, maxAnswerBytes) as Promise<SessionIdentity | null | undefined>,
    remedyOf(account),
  );
  if (!Number.isNaN(Date.parse(String(identity?.expiresAt))) && Array.isArray(identity?.scopes))
    return identity;
  throw notCountersign(account.url);
}

/** On the server. It may have ended already. */
export const endSession = (account: SessionProfile): Promise<void> =>
  request('DELETE', account, async (response) => discard(response));

const request = <T>(
  method: string,
  { url, session }: Pick<SessionProfile, 'url' | 'session'>,
  read: Read<T>,
  remedy?: string,
): Promise<T> => send(sessionAt(url), initOf(method, { ...consoleHeaders, cookie: session }), read, remedy);

const sessionAt = (url: string): string => `${url}/console/api/session`;

const notCountersign = (url: string): CommandError =>
  new CommandError(`${quoted(url)} sent no session; is it the address of Countersign?`);
