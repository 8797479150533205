/** The client of an agent: access tokens, requests with them, the API, and delegations. */
import { destinationOf, readIssuer, readSecureUrl } from './addresses.ts';
import { type Api, type ApiRequest, createApi } from './api.ts';
import { type Approval, type ApprovalOptions, createApprovals, type PingStatus } from './approval.ts';
import { type Auth, createTokenRequests, type TokenTarget } from './authentication.ts';
import { type Dpop, type DpopOptions, isStream, readDpop } from './dpop.ts';
import type { CreatedDelegation, NewDelegation } from './generated.ts';
import { createPlatform, type Platform } from './platform.ts';
import {
  createRequestLoop,
  isRepeatable,
  type Repeat,
  type RetryOptions,
  readRetry,
} from './request-loop.ts';
import { discard, readError, redirectOf } from './response.ts';
import { readScope } from './scope.ts';
import { createTokenCache } from './token-cache.ts';
import type { WebhookHeaders } from './webhook.ts';

export interface ClientOptions {
  /** The address of Countersign, without `/api/v1`. */
  readonly issuer: string;
  /** The id of the agent. */
  readonly clientId: string;
  readonly auth: Auth;
  /** Identifiers of the APIs that `fetch` calls. It names the one that covers the address. */
  readonly resources?: readonly string[];
  /**
   * Binds all tokens to a key, so that a stolen one is useless (DPoP). `true`: a key that is made now and never written anywhere. Or
   * `{ key }`, or what `createDpop` has returned.
   */
  readonly dpop?: boolean | DpopOptions | Dpop;
  readonly retry?: RetryOptions;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform>;
}

export interface TokenOptions {
  /** The identifier of an API. Absent: the Countersign API. */
  readonly resource?: string | undefined;
  /** Scopes, as a list or with spaces between them. Absent: all that the agent may hold. */
  readonly scope?: string | readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Every `RequestInit` is one. */
export interface FetchOptions extends RequestInit, Omit<TokenOptions, 'signal'> {
  /** Where the server of `resource` is, if not at its identifier. The token may go there and below. */
  readonly origin?: string | undefined;
}

export interface Client {
  /** An access token, from the cache as long as it is good. */
  token(options?: TokenOptions): Promise<string>;
  /** As the global fetch, with a token for the API that covers the address, or for `resource`. */
  fetch(url: string | URL, options?: FetchOptions): Promise<Response>;
  /** Every operation of the API: `client.api.getAgent({ agentId })`. */
  readonly api: Api;
  /** With `dpop`: proofs for requests that the program sends itself, such as those with the token of an approval. */
  readonly dpop: Dpop | undefined;
  /** Lends scopes to another agent. Send it the `delegationToken` of the result. */
  delegate(
    delegation: NewDelegation,
    options?: { readonly signal?: AbortSignal },
  ): Promise<CreatedDelegation>;
  /** A client that acts on behalf of the delegator: its tokens are of this delegation. The first request redeems the token. */
  redeem(delegationToken: string): Client;
  /** Asks a person for access. `wait` of the result gives the token when a person has approved. */
  requestApproval(options: ApprovalOptions, call?: { readonly signal?: AbortSignal }): Promise<Approval>;
  /**
   * For the server at the agent's `notificationUri`: wakes `wait` of the approval that was decided. Answer the request with the status that this
   * returns: 204, or 401 and 400 for a request that is not genuine.
   */
  handlePing(body: unknown, headers: WebhookHeaders): Promise<PingStatus>;
}

const maxRedirects = 5;

interface Outgoing {
  readonly url: URL;
  readonly init: RequestInit;
  readonly target: TokenTarget | undefined;
  readonly signal: AbortSignal | undefined;
}

export function createClient(options: ClientOptions): Client {
  const { clientId, auth, resources = [] } = options;
  const issuer = readIssuer(options.issuer);
  if (typeof clientId !== 'string' || clientId === '')
    throw new TypeError('clientId must be the id of an agent');
  for (const resource of resources) readSecureUrl(resource, 'resources');
  const platform = createPlatform(options.platform);
  const retry = readRetry(options.retry);
  const loop = createRequestLoop(platform, retry);
  const once = createRequestLoop(platform, { ...retry, attempts: 1 });
  const dpop = readDpop(options.dpop, options.platform);
  const tokens = createTokenRequests({ issuer, clientId, auth, dpop, platform, loop, once });
  const cache = createTokenCache(platform);

  const keyOf = ({ resource, scope, chain }: TokenTarget) => JSON.stringify([chain, resource, scope]);
  const tokenOf = async (target: TokenTarget, signal?: AbortSignal) =>
    (await cache.get(keyOf(target), (hasToken) => tokens.issue(target, hasToken), signal)).accessToken;

  /** Sends with a token. A token that the server does not know any more is replaced once. */
  const send = async <T>(
    { url, init, target, signal }: Outgoing,
    repeat: Repeat,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    // Wrong options are errors of the program: fetch would throw the same TypeError as for a network error.
    new Request(url, repeat === 'never' ? { ...init, body: null } : init);
    if (!target) return loop({ url, init: () => init, repeat, signal }, read);
    let token = '';
    return loop(
      {
        ...{ url, repeat, signal, fetch: dpop?.fetch },
        async init() {
          token = await tokenOf(target, signal);
          if (dpop) return { ...init, accessToken: token };
          const headers = new Headers(init.headers);
          headers.set('authorization', `Bearer ${token}`);
          return { ...init, headers };
        },
        renew(response) {
          if (!isInvalidToken(response)) return false;
          cache.invalidate(keyOf(target), token);
          return repeat !== 'never';
        },
      },
      read,
    );
  };

  const callApi =
    (chain: string | undefined) =>
    ({ entry, path, init, signal }: ApiRequest, read: (response: Response) => Promise<unknown>) =>
      send(
        {
          ...{ url: new URL(`${issuer}${path}`), init, signal },
          // A delegation of an API must not present that API's token here.
          target: entry.scopes && { chain, resource: chain && issuer },
        },
        repeatOf(init),
        async (response) => {
          if (!response.ok && !redirectOf(response)) throw await readError(response);
          return read(response);
        },
      );

  const targetOf = ({ resource, scope }: TokenOptions, chain: string | undefined): TokenTarget => ({
    chain,
    resource: resource !== undefined && isIssuer(resource, issuer) ? chain && issuer : resource,
    scope: readScope(scope),
  });

  const fetchWithToken = async (
    address: string | URL,
    { resource: named, origin, scope, signal: given, redirect = 'follow', ...init }: FetchOptions,
    chain: string | undefined,
  ): Promise<Response> => {
    const signal = given ?? undefined;
    let url = readSecureUrl(address, 'url');
    const { resource, mayGetToken } = destinationOf(url, { resource: named, origin }, [...resources, issuer]);
    const headers = new Headers(init.headers);
    let request: RequestInit = { ...init, headers };
    for (let count = 0; ; count += 1) {
      const target = mayGetToken(url) ? targetOf({ resource, scope }, chain) : undefined;
      const response = await send(
        { url, init: request, target, signal },
        repeatOf(request),
        async (answer) => answer,
      );
      const refusal = redirect === 'manual' ? undefined : redirectOf(response);
      if (!refusal) return response;
      const location = response.headers.get('location');
      discard(response);
      const isSafe = ['GET', 'HEAD'].includes(methodOf(request)) || response.status === 303;
      if (redirect === 'error' || location === null || !isSafe || count === maxRedirects) throw refusal;
      if (!URL.canParse(location, url)) throw refusal;
      const next = readSecureUrl(new URL(location, url), 'the address of the redirect');
      for (const name of [...headers.keys()])
        if (!mayFollow(name, next.origin === url.origin)) headers.delete(name);
      url = next;
      request = { ...init, headers, method: methodOf(request) === 'HEAD' ? 'HEAD' : 'GET', body: null };
    }
  };

  const approvals = createApprovals({
    ...{ issuer, clientId, dpop, platform, tokens },
    // Not through `api`: the answer has no body.
    async cancel(approvalId) {
      const url = `${issuer}/api/v1/approvals/${encodeURIComponent(approvalId)}`;
      const response = await fetchWithToken(url, { method: 'DELETE' }, undefined);
      if (!response.ok) throw await readError(response);
      discard(response);
    },
  });

  const clientOf = (chain: string | undefined): Client => {
    const api = createApi(callApi(chain));
    return {
      api,
      dpop,
      token: async (wanted = {}) => tokenOf(targetOf(wanted, chain), wanted.signal),
      fetch: (url, init) => fetchWithToken(url, init ?? {}, chain),
      // A delegation is passed on with the agent's own token: one for an API does not open ours.
      delegate: (delegation, call) =>
        own.createDelegation(
          { body: { ...delegation, ...(chain !== undefined && { parentToken: chain }) } },
          call,
        ),
      redeem(delegationToken) {
        if (typeof delegationToken !== 'string' || delegationToken === '')
          throw new TypeError('redeem needs the delegationToken that delegate answered');
        return clientOf(delegationToken);
      },
      requestApproval: (asked, call) => approvals.request(asked, call?.signal),
      handlePing: approvals.handlePing,
    };
  };
  const own = createApi(callApi(undefined));
  return clientOf(undefined);
}

const isIssuer = (resource: string, issuer: string): boolean => resource.replace(/\/+$/, '') === issuer;

/** A redirected request has no body. Another origin gets nothing that may be secret, such as a cookie or a key in a header. */
const mayFollow = (header: string, isSameOrigin: boolean): boolean =>
  isSameOrigin
    ? !['authorization', 'dpop'].includes(header) && !header.startsWith('content-')
    : ['accept', 'user-agent'].includes(header);

/** RFC 6750 §3.1. */
const isInvalidToken = ({ status, headers }: Response): boolean =>
  status === 401 && /\berror="?invalid_token\b/.test(headers.get('www-authenticate') ?? '');

const methodOf = ({ method = 'GET' }: RequestInit): string => method.toUpperCase();

function repeatOf(request: RequestInit): Repeat {
  if (isStream(request.body)) return 'never';
  return isRepeatable(methodOf(request), request.headers) ? 'always' : 'after-429';
}
