/**
 * The access tokens of stored accounts, in a private file of the user: one command gets a token, and the next ones use it until
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
  /** Only then its tokens go into the file: a secret of a variable is on no disk, and so is its token. */
  readonly isStored?: boolean;
}

/** The tokens that this command has got. */
const own = new WeakMap<Io, Map<string, string>>();

/** A request with the token may take this long. */
const marginMs = 30_000;

export const tokensFile = (io: Io): string => join(configFolder(io), 'tokens.json');

/** Tokens with all scopes that the client may have. The last element is the scope, when there are others. */
const keyOf = ({ url, clientId, clientSecret }: Owner): string =>
  createHash('sha256')
    .update(JSON.stringify([url, clientId, clientSecret, '']))
    .digest('base64url');

export const findOwnToken = (io: Io, owner: Owner): string | undefined => own.get(io)?.get(keyOf(owner));

/** Of an earlier command. */
export function findKeptToken(io: Io, owner: Owner): string | undefined {
  const kept = owner.isStored ? readTokens(io)[keyOf(owner)] : undefined;
  return kept && isAlive(kept) ? kept.token : undefined;
}

export async function keepToken(
  io: Io,
  owner: Owner,
  { token, expiresIn }: { readonly token: string; readonly expiresIn: unknown },
): Promise<void> {
  own.set(io, new Map(own.get(io)).set(keyOf(owner), token));
  const expiresAt = new Date(Date.now() + Number(expiresIn) * 1_000);
  if (!owner.isStored || Number.isNaN(expiresAt.getTime())) return;
  const { url, clientId } = owner;
  const kept = { url, clientId, token, expiresAt: expiresAt.toISOString() };
  await changeTokens(io, (tokens) => ({ ...tokens, [keyOf(owner)]: kept }));
}

/** Returns the token if it is alive: the caller revokes it. */
export async function dropToken(io: Io, owner: Owner): Promise<string | undefined> {
  const token = findKeptToken(io, owner);
  const key = keyOf(owner);
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
  typeof kept?.token === 'string' && /^[\x21-\x7e]+$/.test(kept.token) && typeof kept.expiresAt === 'string';

async function changeTokens(io: Io, change: (tokens: Tokens) => Tokens): Promise<void> {
  const alive = () => Object.fromEntries(Object.entries(readTokens(io)).filter(([, kept]) => isAlive(kept)));
  const write = () => `${JSON.stringify(change(alive()), null, 2)}\n`;
  await changePrivateFile(io, tokensFile(io), write).catch(() => {});
}
