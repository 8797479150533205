/**
 * The access tokens of stored accounts, in a private file beside the profiles: one command gets a token, and the next ones use it until
 * it ends. The file is a cache: without it, or when it cannot be read or written, a command gets a token of its own.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Io } from '../io.ts';
import { changePrivateFile, configFolder, readPrivateFile } from './private-file.ts';

interface KeptToken {
  readonly url: string;
  readonly clientId: string;
  readonly token: string;
  readonly expiresAt: string;
}

interface Owner {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A request with the token may take this long. */
const marginMs = 30_000;

export const tokensFile = (io: Io): string => join(configFolder(io), 'tokens.json');

/** A token is of one server, client, secret and scope. All that the client may have is the scope ''. */
const keyOf = ({ url, clientId, clientSecret }: Owner, scope: string): string =>
  createHash('sha256')
    .update(JSON.stringify([url, clientId, clientSecret, scope]))
    .digest('base64url');

export function findToken(io: Io, owner: Owner, scope = ''): string | undefined {
  const kept = readTokens(io)[keyOf(owner, scope)];
  return kept && isAlive(kept) ? kept.token : undefined;
}

export async function keepToken(
  io: Io,
  owner: Owner,
  { token, expiresIn, scope = '' }: { readonly token: string; readonly expiresIn: unknown; readonly scope?: string },
): Promise<void> {
  const expiresAt = new Date(Date.now() + Number(expiresIn) * 1_000);
  if (Number.isNaN(expiresAt.getTime())) return;
  const { url, clientId } = owner;
  const kept = { url, clientId, token, expiresAt: expiresAt.toISOString() };
  await changeTokens(io, (tokens) => ({ ...tokens, [keyOf(owner, scope)]: kept }));
}

/** Returns the token if it is alive: the caller revokes it. */
export async function dropToken(io: Io, owner: Owner, scope = ''): Promise<string | undefined> {
  const token = findToken(io, owner, scope);
  const key = keyOf(owner, scope);
  if (key in readTokens(io))
    await changeTokens(io, (tokens) =>
      Object.fromEntries(Object.entries(tokens).filter(([name]) => name !== key)),
    );
  return token;
}

type Tokens = Readonly<Record<string, KeptToken>>;

const isAlive = ({ expiresAt }: KeptToken): boolean => Date.parse(expiresAt) - Date.now() > marginMs;

function readTokens(io: Io): Tokens {
  try {
    const content = JSON.parse(readPrivateFile(io, tokensFile(io)) ?? '{}');
    return Object.fromEntries(Object.entries<KeptToken>(content).filter(([, kept]) => isKept(kept)));
  } catch {
    return {};
  }
}

const isKept = (kept: Partial<KeptToken> | null): boolean =>
  typeof kept?.token === 'string' &&
  /^[\x21-\x7e]+$/.test(kept.token) &&
  typeof kept.expiresAt === 'string';

async function changeTokens(io: Io, change: (tokens: Tokens) => Tokens): Promise<void> {
  const alive = () => Object.fromEntries(Object.entries(readTokens(io)).filter(([, kept]) => isAlive(kept)));
  const write = () => `${JSON.stringify(change(alive()), null, 2)}\n`;
  await changePrivateFile(io, tokensFile(io), write).catch(() => {});
}
