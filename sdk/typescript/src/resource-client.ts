/**
 * A client of an API that names its authorization server, such as an MCP server: it finds the server (RFC 9728, RFC 8414), gets a token with
 * the grant of the program, and asks for more scopes when the API demands them.
 */
import { covers, isLocal, readIssuer, readSecureUrl } from './addresses.ts';
import { readToken, readWorkloadToken } from './authentication.ts';
import type { AuthorizationOptions } from './authorization.ts';
import { type Challenge, discoverResource, readChallenge } from './authorize/protected-resource.ts';
import { requestToken, type TokenClient, type TokenForm } from './authorize/token-endpoint.ts';
import { type Dpop, type DpopOptions, isStream, readDpop } from './dpop.ts';
import { AuthorizationError } from './errors.ts';
import type { IdJagTarget } from './id-jag.ts';
import {
  createMemoryStorage,
  createPersonSession,
  type PersonSession,
  type PersonTokens,
  type TokenStorage,
} from './person-session.ts';
import { plainText } from './plain-text.ts';
import { createPlatform, type Platform } from './platform.ts';
import type { PrivateKey } from './private-key.ts';
import { createRequestLoop, type RequestLoop, type RetryOptions, readRetry } from './request-loop.ts';
import { discard, redirectOf } from './response.ts';
import { readScope } from './scope.ts';
import { createTokenCache } from './token-cache.ts';

/** An agent with a secret or a private key, which acts for itself (client credentials). */
export interface AgentGrant {
  readonly clientId: string;
  readonly auth: string | PrivateKey;
}

/** A workload, which presents a token of its own platform (jwt-bearer). The function is called for each token request. */
export interface WorkloadGrant {
  readonly auth: () => string | Promise<string>;
}

/** A client of a company: its identity provider decides. `idJag` is called for each token request, usually with `requestIdJag`. */
export interface IdJagGrant {
  readonly clientId: string;
  readonly auth?: string | PrivateKey | undefined;
  readonly idJag: (target: IdJagTarget) => string | Promise<string>;
}

/** A public client that acts for a person. `authorize` asks the person, for example `authorizeOnLoopback`. */
export interface PersonGrant {
  readonly clientId: string;
  readonly authorize: (options: AuthorizationOptions) => Promise<PersonTokens>;
  /** In memory by default. */
  readonly storage?: TokenStorage | undefined;
}

export type ResourceGrant = AgentGrant | WorkloadGrant | IdJagGrant | PersonGrant;

export interface ResourceClientOptions {
  /** The address of the API. Requests and tokens go there and below. */
  readonly url: string;
  /**
   * The authorization servers that may get the credentials of this client: the API must name one of them. `any` is for public clients: with a secret
   * or an assertion, an API could name a server of its own and collect them.
   */
  readonly issuers: readonly string[] | 'any';
  readonly grant: ResourceGrant;
  /** Scopes to ask for at once. The API names others when it needs them. */
  readonly scope?: string | readonly string[] | undefined;
  /**
   * Binds all tokens to a key (DPoP): `true`, `{ key }`, or what `createDpop` has returned. `storage` of a person needs a key that lasts as long.
   */
  readonly dpop?: boolean | DpopOptions | Dpop | undefined;
  /** Of token requests. Requests to the API are not retried. */
  readonly retry?: RetryOptions | undefined;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform> | undefined;
}

export interface ResourceClient {
  /** As the global fetch, with a token as soon as the API demands one. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
}

interface Target {
  readonly issuer: string;
  readonly resource: string;
  readonly scope: string | undefined;
}

interface TokenSource {
  get(target: Target): Promise<string>;
  /** Another token than the one that the API refused. */
  renew(target: Target, refused: string): Promise<string>;
  /** A token with more scopes than the one before. */
  extend(target: Target): Promise<string>;
}

interface Deps {
  readonly dpop: Dpop | undefined;
  readonly platform: Platform;
  readonly loop: RequestLoop;
}

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export function createResourceClient(options: ResourceClientOptions): ResourceClient {
  const { url, issuers, grant } = options;
  const address = readSecureUrl(url, 'url');
  if (issuers !== 'any' && !(Array.isArray(issuers) && issuers.length > 0))
    throw new TypeError("issuers must name the authorization servers that you trust, or be 'any'");
  if (issuers !== 'any') for (const issuer of issuers) readIssuer(issuer);
  const scope = readScope(options.scope);
  const platform = createPlatform(options.platform);
  const dpop = readDpop(options.dpop, options.platform);
  const deps: Deps = { dpop, platform, loop: createRequestLoop(platform, readRetry(options.retry)) };
  const source = createSource(grant, deps);
  const share = createFlights();
  let current: Target | undefined;

  /** The API may have moved to another authorization server since the last token. */
  const connect = async (challenge: Challenge, refused: string | undefined): Promise<string> => {
    const found = await discoverResource(address, challenge.resource_metadata, deps.loop);
    const issuer = found.issuers.find((named) =>
      issuers === 'any' ? isUsable(named, address) : issuers.includes(named),
    );
    if (issuer === undefined)
      throw new AuthorizationError(
        'untrusted_issuer',
        `${address.href} accepts tokens of ${plainText(found.issuers.join(', ') || 'no server')}, and \`issuers\` names none of them`,
      );
    const wanted = union(scope, challenge.scope, current?.scope) ?? union(...found.scopes);
    const target = { issuer, resource: found.resource, scope: wanted };
    const token = await (refused === undefined ? source.get(target) : source.renew(target, refused));
    current = target;
    return token;
  };

  /** One step for each reason and request: an API that goes on refusing gets no further requests. */
  const nextStep = (
    response: Response,
    token: string | undefined,
    done: Set<'connect' | 'renew' | 'extend'>,
  ): (() => Promise<string>) | undefined => {
    const challenge = readChallenge(response);
    const step = response.status === 401 ? (token === undefined ? 'connect' : 'renew') : 'extend';
    if (done.has(step)) return undefined;
    done.add(step);
    if (step !== 'extend') return () => share(`${step} ${token}`, () => connect(challenge, token));
    const isTooSmall = response.status === 403 && challenge.error === 'insufficient_scope';
    if (!isTooSmall || current === undefined) return undefined;
    const target = { ...current, scope: union(current.scope, challenge.scope) };
    // The token was requested with these scopes already: another one would be refused, too.
    if (target.scope === current.scope) return undefined;
    return () =>
      share(`extend ${target.scope}`, async () => {
        const extended = await source.extend(target);
        current = target;
        return extended;
      });
  };

  const send = (to: URL, init: RequestInit, token: string | undefined): Promise<Response> => {
    if (token === undefined) return platform.fetch(to, init);
    if (dpop) return dpop.fetch(to, { ...init, accessToken: token });
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    return platform.fetch(to, { ...init, headers });
  };

  return {
    async fetch(to, init = {}) {
      const requestUrl = readSecureUrl(to, 'url');
      if (!covers(url, requestUrl))
        throw new TypeError(`${url} does not cover ${requestUrl.origin}${requestUrl.pathname}`);
      if (isStream(init.body))
        throw new TypeError('body must be text or bytes: a request may have to be sent again with a token');
      const done = new Set<'connect' | 'renew' | 'extend'>();
      let token = current && (await source.get(current));
      for (;;) {
        const response = await send(requestUrl, { ...init, redirect: 'manual' }, token);
        const redirect = redirectOf(response);
        if (redirect) throw redirect;
        const step = response.ok ? undefined : nextStep(response, token, done);
        if (!step) return response;
        discard(response);
        token = await step();
      }
    },
  };
}

function createSource(grant: ResourceGrant, deps: Deps): TokenSource {
  if ('authorize' in grant) return createPersonSource(grant, deps);
  if ('idJag' in grant)
    return createAgentSource(deps, grant, async ({ issuer, resource, scope }) => {
      const assertion = await grant.idJag({ audience: issuer, resource, scope });
      return async () => ({ grant_type: jwtBearer, assertion });
    });
  const { auth } = grant;
  if (typeof auth === 'function')
    return createAgentSource(deps, {}, async () => async () => ({
      grant_type: jwtBearer,
      assertion: await readWorkloadToken(auth),
    }));
  return createAgentSource(deps, grant as AgentGrant, async () => async () => ({
    grant_type: 'client_credentials',
  }));
}

function createAgentSource(
  deps: Deps,
  client: TokenClient,
  formOf: (target: Target) => Promise<TokenForm>,
): TokenSource {
  const cache = createTokenCache(deps.platform);
  const keyOf = ({ issuer, resource, scope }: Target) => JSON.stringify([issuer, resource, scope]);
  const issue = async (target: Target) => {
    const { issuer, resource, scope } = target;
    const form = await formOf(target);
    return requestToken(
      issuer,
      client,
      async () => ({ ...(await form()), resource, scope }),
      (response) => readToken(response, deps.dpop),
      deps,
    );
  };
  const get = async (target: Target) => (await cache.get(keyOf(target), () => issue(target))).accessToken;
  return {
    get,
    extend: get,
    renew(target, refused) {
      cache.invalidate(keyOf(target), refused);
      return get(target);
    },
  };
}

function createPersonSource(grant: PersonGrant, { dpop, platform }: Deps): TokenSource {
  const { clientId, authorize, storage = createMemoryStorage() } = grant;
  /** One each, so that callers share a refresh. */
  const sessions = new Map<string, PersonSession>();
  const sessionOf = ({ issuer, resource }: Target): PersonSession => {
    const key = JSON.stringify([issuer, resource]);
    const session =
      sessions.get(key) ??
      createPersonSession({
        ...{ issuer, clientId, resource, storage, platform },
        ...(dpop && { dpop }),
      });
    sessions.set(key, session);
    return session;
  };

  const ask = async ({ issuer, resource, scope }: Target): Promise<string> => {
    const tokens = await authorize({ issuer, clientId, resource, scope, dpop, platform });
    await sessionOf({ issuer, resource, scope }).save(tokens);
    return tokens.accessToken;
  };
  const unlessEnded = (target: Target, token: Promise<string>): Promise<string> =>
    token.catch((error: unknown) => {
      if (error instanceof AuthorizationError && error.code === 'authorization_required') return ask(target);
      throw error;
    });

  return {
    get: (target) => unlessEnded(target, sessionOf(target).token()),
    async extend(target) {
      const stored = await sessionOf(target).tokens();
      return ask({ ...target, scope: union(target.scope, stored?.scope) });
    },
    async renew(target, refused) {
      const session = sessionOf(target);
      const stored = await session.tokens();
      if (stored && stored.accessToken !== refused) return stored.accessToken;
      return unlessEnded(target, session.refresh());
    },
  };
}

/** An API elsewhere must not make this program send requests to its own machine. */
function isUsable(issuer: string, api: URL): boolean {
  try {
    return !isLocal(readSecureUrl(issuer, 'issuer')) || isLocal(api);
  } catch {
    return false;
  }
}

/** Callers at the same time share the work. */
function createFlights() {
  const flights = new Map<string, Promise<string>>();
  return (key: string, work: () => Promise<string>): Promise<string> => {
    const flight = flights.get(key) ?? work().finally(() => flights.delete(key));
    flights.set(key, flight);
    return flight;
  };
}

/** Undefined without any scope. */
function union(...scopes: readonly (string | undefined)[]): string | undefined {
  const names = scopes.filter((scope) => scope?.trim()) as string[];
  return names.length === 0 ? undefined : readScope(names);
}
