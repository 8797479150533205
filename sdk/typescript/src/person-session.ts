/** The tokens of an agent that acts for a person: stored, refreshed, and ended. */
import { readIssuer } from './addresses.ts';
import { readToken } from './authentication.ts';
import { discover, type ServerMetadata } from './authorize/discovery.ts';
import type { Dpop } from './dpop.ts';
import { ApiError, AuthorizationError } from './errors.ts';
import { createPlatform, type Platform } from './platform.ts';
import { createRequestLoop, type RequestLoop } from './request-loop.ts';
import { postForm } from './request-rules.ts';
import { discard, readError } from './response.ts';
import { type IssuedToken, isTemporary } from './token-cache.ts';
import type { AuthorizationDetail } from './verify/access-token.ts';

/** Who acts where. A storage has one entry for each. */
export interface PersonSessionKey {
  readonly issuer: string;
  readonly clientId: string;
  readonly resource: string;
}

export interface PersonTokens extends PersonSessionKey {
  readonly accessToken: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Milliseconds since 1970: a new token is requested from then on. */
  readonly refreshAt: number;
  readonly scope: string;
  /** Each is used once, and the answer has the next one. */
  readonly refreshToken?: string;
  /** What exactly the person approved. */
  readonly authorizationDetails?: readonly AuthorizationDetail[];
}

/** Where tokens are stored: a keychain, a file that only its owner can read, the `sessionStorage` of a page. One person per storage. */
export interface TokenStorage {
  get(key: string): MaybePromise<string | null | undefined>;
  set(key: string, value: string): MaybePromise<unknown>;
  delete(key: string): MaybePromise<unknown>;
}

type MaybePromise<T> = T | Promise<T>;

export interface PersonSessionOptions extends PersonSessionKey {
  /** In memory by default: the person signs in again when the program starts again. */
  readonly storage?: TokenStorage;
  /**
   * What `createDpop` has returned, the same as for `startAuthorization`. Refresh tokens are bound to its key: a storage that outlives the
   * program needs a key that does.
   */
  readonly dpop?: Dpop;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform>;
}

export interface PersonSession {
  /** Stores what `finishAuthorization` has returned. */
  save(tokens: PersonTokens): Promise<void>;
  /** What is stored; undefined when the person has to sign in. */
  tokens(): Promise<PersonTokens | undefined>;
  /** A good access token, which is refreshed in time. AuthorizationError `authorization_required` when the person has to sign in. */
  token(): Promise<string>;
  /** A new access token, for example after a 401. Callers at the same time share one request. */
  refresh(): Promise<string>;
  /** Signs out: deletes the tokens here, and ends the agent's access at the server. */
  end(): Promise<void>;
}

export const createMemoryStorage = (): TokenStorage => new Map<string, string>();

const refreshShare = 0.8;
const minLeftMs = 5_000;
/** After a failed refresh, while the token is still good. */
const refreshPauseMs = 10_000;
/**
 * The server answers the same refresh token again for ten seconds after its first use, and takes a later use for theft. So both attempts fit
 * into that time.
 */
const refreshRetry = { attempts: 2, timeoutSeconds: 4, maxWaitSeconds: 3 };

export function personTokens(key: PersonSessionKey, issued: IssuedToken, askedAt: number): PersonTokens {
  const { accessToken, refreshToken, scope, lifetimeSeconds, authorizationDetails } = issued;
  const { issuer, clientId, resource } = key;
  return {
    ...{ issuer, clientId, resource, accessToken, scope },
    expiresAt: askedAt + lifetimeSeconds * 1000,
    refreshAt: askedAt + lifetimeSeconds * 1000 * refreshShare,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(authorizationDetails !== undefined && { authorizationDetails }),
  };
}

/** An agent with credentials of its own proves its identity, and knows the endpoints. */
export interface ConfidentialAgent {
  prove(): Promise<Record<string, string>>;
  readonly server: Endpoints;
  /** What the program does when the access has ended. */
  readonly startAgain: string;
}

type Endpoints = Pick<ServerMetadata, 'tokenEndpoint' | 'revocationEndpoint'>;

export const createPersonSession = (options: PersonSessionOptions): PersonSession => createSession(options);

export function createSession(options: PersonSessionOptions, agent?: ConfidentialAgent): PersonSession {
  const { clientId, resource, storage = createMemoryStorage() } = options;
  const issuer = readIssuer(options.issuer);
  const platform = createPlatform(options.platform);
  const { dpop } = options;
  const key = { issuer, clientId, resource };
  const entry = `countersign ${JSON.stringify([issuer, clientId, resource])}`;
  const loop = createRequestLoop(platform);
  const refreshLoop = createRequestLoop(platform, refreshRetry);
  let discovery: Promise<Endpoints> | undefined = agent && Promise.resolve(agent.server);
  let flight: Promise<PersonTokens> | undefined;
  let pausedUntil = 0;
  /** Grows when the tokens are replaced or deleted from outside, so that a refresh under way does not bring the old ones back. */
  let generation = 0;

  const server = (): Promise<Endpoints> => {
    discovery ??= discover(issuer, loop).catch((error) => {
      discovery = undefined;
      throw error;
    });
    return discovery;
  };

  const startAgain = agent?.startAgain ?? 'call startAuthorization, so that the person signs in';
  const signInRequired = (reason: string, cause?: unknown) =>
    new AuthorizationError('authorization_required', `${reason}: ${startAgain}`, cause);

  const read = async (): Promise<PersonTokens | undefined> => parse(await storage.get(entry), key);

  const post = <T>(
    send: RequestLoop,
    url: string,
    form: Record<string, string>,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const init = async () =>
      postForm({ ...form, ...(agent ? await agent.prove() : { client_id: clientId }) });
    return send({ url, init, repeat: 'always', fetch: dpop?.fetch }, read);
  };

  const request = async (refreshToken: string): Promise<PersonTokens> => {
    const { tokenEndpoint } = await server();
    const askedAt = platform.now();
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const issued = await post(refreshLoop, tokenEndpoint, form, (response) => readToken(response, dpop));
    return personTokens(key, { refreshToken, ...issued }, askedAt);
  };

  /** Another process with the same storage may have been faster. */
  const refresh = async (used: PersonTokens | undefined): Promise<PersonTokens> => {
    const started = generation;
    const stored = await read();
    if (!stored) throw signInRequired('there is no token of a person');
    if (used && stored.accessToken !== used.accessToken && platform.now() < stored.refreshAt) return stored;
    if (stored.refreshToken === undefined) throw signInRequired('there is no refresh token');
    try {
      const renewed = await request(stored.refreshToken);
      if (generation === started) await storage.set(entry, JSON.stringify(renewed));
      return renewed;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'invalid_grant')) throw error;
      const current = await read();
      if (current && current.refreshToken !== stored.refreshToken) return current;
      if (generation === started) await storage.delete(entry);
      throw signInRequired('the person, an administrator or a time limit has ended the access', error);
    }
  };

  const share = (used: PersonTokens | undefined): Promise<PersonTokens> => {
    flight ??= refresh(used).finally(() => {
      flight = undefined;
    });
    return flight;
  };

  return {
    async save(tokens) {
      if (tokens.issuer !== issuer || tokens.clientId !== clientId || tokens.resource !== resource)
        throw new TypeError('these tokens are of another issuer, client or API than the session');
      generation += 1;
      await storage.set(entry, JSON.stringify(tokens));
    },

    tokens: read,

    async token() {
      const stored = await read();
      if (!stored) throw signInRequired('there is no token of a person');
      const isGood = stored.expiresAt - platform.now() > minLeftMs;
      if (isGood && (platform.now() < stored.refreshAt || platform.now() < pausedUntil))
        return stored.accessToken;
      try {
        return (await share(stored)).accessToken;
      } catch (error) {
        if (!isGood || !isTemporary(error)) throw error;
        pausedUntil = platform.now() + refreshPauseMs;
        return stored.accessToken;
      }
    },

    refresh: async () => (await share(undefined)).accessToken,

    async end() {
      // A refresh under way replaces the refresh token.
      await flight?.catch(() => {});
      generation += 1;
      const stored = await read();
      await storage.delete(entry);
      const { revocationEndpoint } = stored?.refreshToken === undefined ? {} : await server();
      if (!stored?.refreshToken || revocationEndpoint === undefined) return;
      const form = { token: stored.refreshToken, token_type_hint: 'refresh_token' };
      await post(loop, revocationEndpoint, form, async (response) => {
        if (!response.ok) throw await readError(response);
        discard(response);
      });
    },
  };
}

/** Undefined for anything that this SDK has not stored. */
function parse(text: string | null | undefined, key: PersonSessionKey): PersonTokens | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const tokens = JSON.parse(text) as PersonTokens;
    const isComplete =
      tokens.issuer === key.issuer &&
      tokens.clientId === key.clientId &&
      tokens.resource === key.resource &&
      typeof tokens.accessToken === 'string' &&
      typeof tokens.expiresAt === 'number' &&
      typeof tokens.refreshAt === 'number' &&
      ['string', 'undefined'].includes(typeof tokens.refreshToken);
    return isComplete ? tokens : undefined;
  } catch {
    return undefined;
  }
}
