/**
 * A person lets an agent without a secret (a public client) act for them: authorization code with PKCE (RFC 7636). The program sends the
 * person's browser to `url` of `startAuthorization`, and gives the address that the browser comes back to to `finishAuthorization`.
 */
import { base64url } from 'jose';
import { readIssuer, readSecureUrl } from './addresses.ts';
import { readToken } from './authentication.ts';
import { readCallback } from './authorize/callback.ts';
import { discover, type ServerMetadata } from './authorize/discovery.ts';
import type { Dpop } from './dpop.ts';
import { ApiError, AuthorizationError } from './errors.ts';
import { type PersonTokens, personTokens } from './person-session.ts';
import { createPlatform, type Platform } from './platform.ts';
import { createRequestLoop } from './request-loop.ts';
import { postForm } from './request-rules.ts';
import { readScope } from './scope.ts';

export interface AuthorizationOptions {
  /** The address of Countersign, without `/api/v1`. */
  readonly issuer: string;
  /** The id of an agent with `publicClient`, or the address of its client ID metadata document. */
  readonly clientId: string;
  /** The identifier of the API that the agent will call for the person, or the issuer. */
  readonly resource: string;
  /** Scopes, as a list or with spaces between them. Absent: all that the person may lend. */
  readonly scope?: string | readonly string[] | undefined;
  /** One of the agent's redirect URIs. May be left out if it has exactly one. */
  readonly redirectUri?: string | undefined;
  readonly prompt?: 'none' | 'login' | 'consent' | undefined;
  /** Who will probably sign in: passed on to the company's sign-in page. */
  readonly loginHint?: string | undefined;
  /** Slug or id of the person's organization, if several may use the API. */
  readonly organization?: string | undefined;
  /** What `createDpop` has returned: binds the code and the tokens to its key. Give it to `finishAuthorization` and to the session, too. */
  readonly dpop?: Dpop | undefined;
  /** For tests, and for programs with a fetch of their own. */
  readonly platform?: Partial<Platform> | undefined;
}

/** A request that waits for its callback. It can be stored as JSON, for this browser only: it is secret. */
export interface Authorization {
  /** Send the person's browser here. */
  readonly url: string;
  /** The callback must have the same. */
  readonly state: string;
  readonly codeVerifier: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly resource: string;
  readonly redirectUri?: string;
  readonly server: ServerMetadata;
}

const randomText = (): string => base64url.encode(crypto.getRandomValues(new Uint8Array(32)));

export async function startAuthorization(options: AuthorizationOptions): Promise<Authorization> {
  const { clientId, resource, redirectUri, prompt, loginHint, organization } = options;
  const issuer = readIssuer(options.issuer);
  if (typeof clientId !== 'string' || clientId === '')
    throw new TypeError('clientId must be the id of an agent, or the address of its metadata document');
  readSecureUrl(resource, 'resource');
  if (redirectUri !== undefined && readSecureUrl(redirectUri, 'redirectUri').hash !== '')
    throw new TypeError('redirectUri must have no fragment');
  const scope = readScope(options.scope);
  const platform = createPlatform(options.platform);
  const server = await discover(issuer, createRequestLoop(platform));

  const [state, codeVerifier] = [randomText(), randomText()];
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  const url = new URL(server.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    resource,
    scope,
    state,
    code_challenge: base64url.encode(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
    prompt,
    login_hint: loginHint,
    organization,
    dpop_jkt: await options.dpop?.thumbprint(),
  };
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value);
  return {
    url: url.href,
    ...{ state, codeVerifier, issuer, clientId, resource, server },
    ...(redirectUri !== undefined && { redirectUri }),
  };
}

/** A second use of a code would end the access of the first. */
const finished = new WeakSet<Authorization>();

/** Checks the callback and exchanges its code. Store the tokens with `save` of a PersonSession. */
export async function finishAuthorization(
  callbackUrl: string | URL,
  authorization: Authorization,
  options: Pick<AuthorizationOptions, 'dpop' | 'platform'> = {},
): Promise<PersonTokens> {
  const { issuer, clientId, resource, codeVerifier, redirectUri, state, server } = authorization;
  const { namesIssuer } = server;
  const code = readCallback(callbackUrl, { issuer, state, namesIssuer, redirectUri });
  if (finished.has(authorization))
    throw new AuthorizationError(
      'already_finished',
      'this authorization was finished before: call startAuthorization again',
    );
  finished.add(authorization);
  const platform = createPlatform(options.platform);
  const { dpop } = options;
  const askedAt = platform.now();
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: codeVerifier,
    resource,
    ...(redirectUri !== undefined && { redirect_uri: redirectUri }),
  };
  // Without another attempt after a lost answer: the code may be used.
  const issued = await createRequestLoop(platform)(
    { url: server.tokenEndpoint, init: () => postForm(form), repeat: 'after-429', fetch: dpop?.fetch },
    (response) => readToken(response, dpop).catch(rethrowRefusal),
  );
  return personTokens({ issuer, clientId, resource }, issued, askedAt);
}

function rethrowRefusal(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'invalid_grant') throw error;
  throw new AuthorizationError('invalid_grant', `${error.message}; call startAuthorization again`, error);
}
