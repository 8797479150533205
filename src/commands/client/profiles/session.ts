/**
 * A sign-in with a one-time code of the console: a session like that of a browser, whose requests go to the console's mirror of the
 * API. docs/decisions/015-console-sessions.md.
 */
import { CommandError, exitCodes } from '../../command-error.ts';
import { quoted } from '../../terminal.ts';
import { readBody, refusalOf, send } from '../http.ts';
import type { SessionProfile } from './profiles.ts';

/** What the server says about the session. */
interface SessionIdentity {
  readonly agentId: string;
  readonly agentName: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly person: { readonly personId: string; readonly name: string } | null;
  readonly expiresAt: string;
}

type NamedSession = SessionProfile & { readonly profile?: string };

const requestTimeoutMs = 30_000;
const maxAnswerBytes = 64 * 1024;

/** The console's own pages send the same, which pages of other sites cannot. */
const consoleHeaders = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

export const isCode = (text: string): boolean => text.startsWith('csc_');

/** `remedy` follows a 401: a session cannot be renewed. */
export function sessionAccess(account: NamedSession) {
  const { url, session, expiresAt } = account;
  if (Date.parse(expiresAt) <= Date.now())
    throw new CommandError(
      `the sign-in${ofProfile(account)} ended at ${quoted(expiresAt)}; run ${loginCommand(account)}`,
      exitCodes.notSignedIn,
    );
  return {
    base: `${url}/console/api/v1`,
    ownBase: `${url}/console/api/me`,
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
export async function redeemCode(url: string, code: string): Promise<SessionProfile & SessionIdentity> {
  if (!isCode(code))
    throw new CommandError(
      'this is not a one-time code, which begins with csc_: get one in the account menu of the console, under "Sign in to the command line"',
      exitCodes.usage,
    );
  const response = await request(
    url,
    'POST',
    { 'content-type': 'application/json' },
    JSON.stringify({ code }),
  );
  if (!response.ok) throw await refusalOf(response);
  const session = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .find((pair) => /^(?:__Host-)?countersign=[\w-]{43}$/.test(pair));
  if (session === undefined) throw notCountersign(url);
  return { ...(await fetchIdentity({ url, session })), url, session };
}

export async function fetchIdentity(
  account: Pick<NamedSession, 'url' | 'session' | 'profile'>,
): Promise<SessionIdentity> {
  const { url, session } = account;
  const response = await request(url, 'GET', { cookie: session });
  if (!response.ok) throw await refusalOf(response, response.status === 401 ? remedyOf(account) : '');
  try {
    const identity = JSON.parse((await readBody(response, maxAnswerBytes)).toString());
    if (!Number.isNaN(Date.parse(identity.expiresAt)) && Array.isArray(identity.scopes)) return identity;
  } catch (error) {
    if (error instanceof CommandError) throw error;
  }
  throw notCountersign(url);
}

/** On the server. It may have ended already. */
export async function endSession({ url, session }: SessionProfile): Promise<void> {
  const response = await request(url, 'DELETE', { cookie: session });
  if (!response.ok) throw await refusalOf(response);
}

const request = (url: string, method: string, headers: Record<string, string>, body?: string) =>
  send(`${url}/console/api/session`, {
    method,
    headers: { ...consoleHeaders, ...headers },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(requestTimeoutMs),
  });

const notCountersign = (url: string): CommandError =>
  new CommandError(`${quoted(url)} sent no session; is it the address of Countersign?`);
