/**
 * OpenID providers on openid-client: authorization code with PKCE, state and nonce, and ID tokens whose signature is always verified.
 * All requests go through the outbound client, with its timeouts, size limits and address rules. The library is imported by the first
 * sign-in.
 */

import type { Configuration, CustomFetch } from 'openid-client';
import { isLoopback } from '../kernel/audience.ts';
import type { Clock } from '../kernel/clock.ts';
import {
  type OpenIdProvider,
  ProviderProblem,
  type ProviderReason,
  type ProviderSettings,
  type SignInPrompt,
  type SignInSecrets,
} from '../kernel/ports/openid-provider.ts';
import { type Outbound, OutboundProblem } from '../kernel/ports/outbound.ts';

type Library = typeof import('openid-client');

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;
/** The provider may move its endpoints; the library refreshes its keys by itself. */
const discoveryMaxAgeMs = 3_600_000;

export function createOpenIdProvider(
  { issuer, clientId, clientSecret, name, scopes }: ProviderSettings,
  { outbound, clock, redirectUri }: { outbound: Outbound; clock: Clock; redirectUri: string },
): OpenIdProvider {
  const fetch = createFetch(outbound);
  let discovered: { at: number; result: Promise<{ library: Library; client: Configuration }> } | undefined;

  const discover = async () => {
    const library = await import('openid-client');
    const client = await library.discovery(
      new URL(issuer),
      clientId,
      undefined,
      await authenticationFor(library),
      {
        [library.customFetch]: fetch,
        timeout: timeoutMs / 1_000,
        execute: [
          library.enableNonRepudiationChecks,
          ...(new URL(issuer).protocol === 'http:' && isLoopback(issuer)
            ? [library.allowInsecureRequests]
            : []),
        ],
      },
    );
    return { library, client };
  };

  /** Basic is the method that every provider must accept (RFC 6749 §2.3.1). Providers that list their methods without it get `post`. */
  const authenticationFor = async (library: Library) => {
    const basic = library.ClientSecretBasic(clientSecret);
    const post = library.ClientSecretPost(clientSecret);
    const authenticate: ReturnType<Library['ClientSecretBasic']> = (server, client, body, headers) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const method =
        !methods.includes('client_secret_basic') && methods.includes('client_secret_post') ? post : basic;
      return method(server, client, body, headers);
    };
    return authenticate;
  };

  /** Concurrent sign-ins share one discovery (single flight). A failed one is not cached. */
  const open = () => {
    if (discovered && clock.now() - discovered.at < discoveryMaxAgeMs) return discovered.result;
    const entry = { at: clock.now(), result: discover() };
    discovered = entry;
    entry.result.catch(() => {
      if (discovered === entry) discovered = undefined;
    });
    return entry.result;
  };

  return {
    issuer,
    name,

    async authorizationUrl({ state, nonce, codeVerifier }, prompt = {}) {
      try {
        const { library, client } = await open();
        return library.buildAuthorizationUrl(client, {
          redirect_uri: redirectUri,
          response_type: 'code',
          scope: scopes.join(' '),
          state,
          nonce,
          code_challenge: await library.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
          ...promptParameters(prompt, issuer, client.serverMetadata().prompt_values_supported),
        }).href;
      } catch (error) {
        throw problemOf(error, 'unavailable');
      }
    },

    async identify(query, { state, nonce, codeVerifier }: SignInSecrets, maxAgeSeconds) {
      const { library, client } = await open().catch((error) => {
        throw problemOf(error, 'unavailable');
      });
      try {
        const answer = await library.authorizationCodeGrant(client, withQuery(redirectUri, query), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
          ...(maxAgeSeconds !== undefined && { maxAge: maxAgeSeconds }),
        });
        const claims = answer.claims();
        if (!claims) throw new ProviderProblem('invalid', 'the provider sent no ID token');
        return { issuer: claims.iss, subject: claims.sub, claims: { ...claims } };
      } catch (error) {
        throw problemOf(error, 'invalid', library);
      }
    },
  };
}

/** Every provider must know `login` (OpenID Connect Core §15.1). Google knows only `select_account`, and lists neither. */
function promptParameters(
  { loginHint, reauthenticate, switchAccount }: SignInPrompt,
  issuer: string,
  listed: unknown,
): Record<string, string> {
  const unlisted = issuer === 'https://accounts.google.com' ? ['select_account'] : ['login'];
  const known: readonly unknown[] = Array.isArray(listed) ? listed : unlisted;
  const select = known.includes('select_account') ? 'select_account' : 'login';
  const login = known.includes('login') ? 'login' : select;
  const prompts = new Set([...(reauthenticate ? [login] : []), ...(switchAccount ? [select] : [])]);
  return {
    ...(loginHint !== undefined && { login_hint: loginHint }),
    ...(prompts.size > 0 && { prompt: [...prompts].join(' ') }),
    // The ID token then has `auth_time`.
    ...(reauthenticate && { max_age: '0' }),
  };
}

function withQuery(address: string, query: URLSearchParams): URL {
  const url = new URL(address);
  url.search = query.toString();
  return url;
}

/** The library's requests, sent by the outbound client. It follows no redirects. */
const createFetch =
  (outbound: Outbound): CustomFetch =>
  async (url, { method, headers, body }) => {
    const {
      status,
      headers: received,
      body: bytes,
    } = await outbound.send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers,
      ...(body != null && { body: String(body) }),
      timeoutMs,
      maxBytes,
    });
    const answer = new Headers();
    for (const [key, value] of Object.entries(received))
      for (const item of [value ?? []].flat()) answer.append(key, item);
    return new Response([101, 204, 205, 304].includes(status) ? null : new Uint8Array(bytes), {
      status,
      headers: answer,
    });
  };

/** The messages are for the operator's log. */
function problemOf(error: unknown, otherwise: ProviderReason, library?: Library): ProviderProblem {
  if (error instanceof ProviderProblem) return error;
  const { message, cause } = error as Error;
  if (library && error instanceof library.AuthorizationResponseError)
    return new ProviderProblem('refused', `the provider answered ${error.error}`, { cause: error });
  // The code was wrong or used; all other errors of the token endpoint are ours or the provider's.
  if (library && error instanceof library.ResponseBodyError)
    return new ProviderProblem(
      error.error === 'invalid_grant' ? 'invalid' : 'unavailable',
      `the token endpoint answered ${error.error}`,
      { cause: error },
    );
  // The provider does not know our client, or its secret.
  if (library && error instanceof library.WWWAuthenticateChallengeError)
    return new ProviderProblem('unavailable', 'the token endpoint refused the client', { cause: error });
  const outbound = [error, cause].find((item) => item instanceof OutboundProblem);
  if (outbound)
    return new ProviderProblem('unavailable', (outbound as OutboundProblem).detail, { cause: error });
  const isHttp = ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR'];
  const { code = '' } = error as { code?: string };
  return new ProviderProblem(isHttp.includes(code) ? 'unavailable' : otherwise, message, { cause: error });
}
