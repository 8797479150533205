/** The account with which a command uses a running server: where it comes from, and how its requests prove it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { postForm } from '../../../sdk/typescript/src/request-rules.ts';
import { discard, readJson } from '../../../sdk/typescript/src/response.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { quoted } from '../terminal.ts';
import { defaultDataFolder } from './connection-options.ts';
import { ApiError, send } from './http.ts';
import { findKeptToken, findOwnToken, keepToken } from './kept-tokens.ts';
import { findProfile, type Profile } from './profiles/profiles.ts';
import { fetchIdentity, sessionAccess } from './profiles/session.ts';

export interface AccountOptions {
  readonly profile?: string;
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The data folder of `dev`, which holds its operator's credentials. */
  readonly data: string;
}

/** `profile` is the name of the stored profile, if the account is one. `isStored`: its secret is in a file, and so may its token be. */
export type Account = Profile & { readonly profile?: string; readonly isStored?: boolean };
export type ClientAccount = Extract<Account, { readonly clientId: string }>;
export type SessionAccount = Extract<Account, { readonly session: string }>;

/** How the requests of an account prove it. */
export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  /** A token that an earlier command got: it may lack a scope that the client has got since. */
  readonly isKept?: boolean;
  /** Absent when a refused proof can be renewed; otherwise the end of the error's message. */
  readonly remedy?: string;
}

const maxTokenBytes = 64 * 1024;

/**
 * A profile that is named with --profile. Else options, then the environment, then the current profile, then the admin.json of
 * `dev`; each of the three values is looked up separately. A data folder other than the default one counts before the current
 * profile. The secrets of a profile or of admin.json are sent to the address that they were stored with only, and credentials of
 * options or the environment to an address of options or the environment only: admin.json may be a file of another party.
 */
export function accountFrom(io: Io, options: AccountOptions): Account {
  if (options.profile !== undefined) return namedAccount(io, options.profile, options.url);
  const clientId = options.clientId ?? io.env.COUNTERSIGN_CLIENT_ID;
  const clientSecret = options.clientSecret ?? io.env.COUNTERSIGN_CLIENT_SECRET;
  const givenUrl = options.url ?? io.env.COUNTERSIGN_URL;
  if ((clientId || clientSecret) && !givenUrl)
    throw new CommandError(
      'the address of the server is missing: credentials of the environment or of options are not sent to a stored address; set COUNTERSIGN_URL or give --url, or name a profile with --profile',
      exitCodes.usage,
    );
  // Nothing stored is needed, so a damaged file does not matter.
  if (givenUrl && clientId && clientSecret) {
    requireAddress(givenUrl);
    return { url: givenUrl.replace(/\/+$/, ''), clientId, clientSecret };
  }
  const file = join(options.data, 'admin.json');
  const stored = options.data === defaultDataFolder ? currentAccount(io) : undefined;
  const known = stored ?? readAdmin(file);
  const url = givenUrl ?? known.url;
  if (url) requireAddress(url);
  const own = isSameOrigin(url, known.url) ? known : {};
  if (stored && own === stored && !clientId && !clientSecret) return stored;
  const client = {
    url: url?.replace(/\/+$/, ''),
    clientId: clientId ?? ('clientId' in own ? own.clientId : undefined),
    clientSecret: clientSecret ?? ('clientSecret' in own ? own.clientSecret : undefined),
  };
  if (client.url && client.clientId && client.clientSecret)
    return { ...(client as ClientAccount), isStored: !clientId && !clientSecret };
  throw new CommandError(
    url && known.url && own !== known
      ? `no credentials for ${quoted(url)}: run \`countersign login --url ${quoted(url)}\`, or set COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET; those ${stored ? `of the profile ${stored.profile}` : `in ${file}`} are for ${quoted(known.url)} only`
      : `no credentials: run \`countersign login\`, or set COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET, or run this where \`countersign dev\` has written ${file}`,
    exitCodes.notSignedIn,
  );
}

function namedAccount(io: Io, name: string, url: string | undefined): Account {
  const profile = findProfile(io, name);
  if (profile === undefined)
    throw new CommandError(
      `there is no profile ${quoted(name)}: \`countersign profiles\` lists them, \`countersign login --profile ${quoted(name)}\` makes it`,
      exitCodes.notSignedIn,
    );
  if (url !== undefined && !isSameOrigin(url, profile.url))
    throw new CommandError(
      `the profile ${name} is for ${quoted(profile.url)}, not for ${quoted(url)}`,
      exitCodes.usage,
    );
  return { ...profile, profile: name, isStored: true };
}

function currentAccount(io: Io): (Account & { readonly profile: string }) | undefined {
  const found = findProfile(io);
  return found && { ...found, profile: found.name, isStored: true };
}

export function requireAddress(url: string): void {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return;
  throw new CommandError(
    `${quoted(url)} is not the address of a server; it must start with http:// or https://`,
    exitCodes.usage,
  );
}

export const isSameOrigin = (url: string | undefined, other: string | undefined): boolean => {
  const origin = URL.parse(url ?? '')?.origin;
  return origin !== undefined && origin === URL.parse(other ?? '')?.origin;
};

interface StoredAdmin {
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
}

function readAdmin(file: string): StoredAdmin {
  try {
    const { baseUrl, clientId, clientSecret } = JSON.parse(readFileSync(file, 'utf8'));
    return { url: baseUrl, clientId, clientSecret };
  } catch {
    return {};
  }
}

/** Where the requests of an account go. `own`: those that concern the person of a session alone. */
export function basePath(account: Account, own: boolean): string {
  if ('session' in account) return own ? '/console/api/me' : '/console/api/v1';
  return '/api/v1';
}

/** A token of a client, or the cookie of a session. `refused` is the proof that the server did not accept. */
export async function accessOf(io: Io, account: Account, refused?: Access): Promise<Access> {
  if ('session' in account) return sessionAccess(account);
  const isGood = (token: string | undefined): token is string =>
    token !== undefined && bearer(token).authorization !== refused?.headers.authorization;
  const own = findOwnToken(io, account);
  if (isGood(own)) return { headers: bearer(own) };
  const kept = findKeptToken(io, account);
  if (isGood(kept)) return { headers: bearer(kept), isKept: true };
  return { headers: bearer(await newToken(io, account)) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** For our own API, with all that the client may have. */
export async function tokenOf(io: Io, account: ClientAccount): Promise<string> {
  return findOwnToken(io, account) ?? findKeptToken(io, account) ?? newToken(io, account);
}

/** The organization that the account belongs to. */
export async function organizationOf(io: Io, account: Account): Promise<string> {
  if ('session' in account) return (await fetchIdentity(account)).organizationId;
  return String(claimsOf(await tokenOf(io, account)).organization_id);
}

export type Claims = Readonly<Record<string, unknown>>;

/** Not verified: the server that issued it is the one that we asked. */
export function claimsOf(token: string): Claims {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    throw new CommandError('the server sent a token that is no JWT');
  }
}

async function newToken(io: Io, account: ClientAccount): Promise<string> {
  const { access_token: token, expires_in: expiresIn } = await requestToken(account);
  await keepToken(io, account, { token, expiresIn });
  return token;
}

interface TokenAnswer {
  readonly access_token: string;
  readonly scope?: string;
  readonly expires_in?: number;
}

/** A token of the client, for our own API or for a resource. */
export async function requestToken(
  account: ClientAccount,
  parameters: { readonly resource?: string; readonly scope?: string } = {},
): Promise<TokenAnswer> {
  const { url, clientId, clientSecret } = account;
  const answer = await send(
    `${url}/api/v1/token`,
    postForm({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...parameters,
    }),
    (response) => readJson(response, maxTokenBytes),
    remedyOf(account),
  );
  if (isToken(answer)) return answer;
  throw new CommandError(`${url} sent no access token; is it the address of Countersign?`);
}

/** By itself. A token that has ended already is no error. */
export const revokeToken = ({ url }: ClientAccount, token: string): Promise<void> =>
  send(`${url}/api/v1/token/revoke`, postForm({ token }, bearer(token)), async (response) =>
    discard(response),
  ).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  });

const remedyOf = ({ profile }: Account): string =>
  profile === undefined
    ? '; the client secret is wrong, revoked or expired'
    : `; the secret of the profile ${profile} is wrong, revoked or expired: run \`countersign login --profile ${profile}\``;

/** It must fit into a header. */
function isToken(answer: unknown): answer is TokenAnswer {
  const { access_token } = (answer ?? {}) as { readonly access_token?: unknown };
  return typeof access_token === 'string' && /^[\x21-\x7e]+$/.test(access_token);
}
