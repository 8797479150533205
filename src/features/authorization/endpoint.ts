/** `/authorize`: validates the request in the order of RFC 6749 §4.1, stores it, and decides where the browser goes. */

import { limits } from '../../contract/limits.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import type { Origin } from '../../kernel/caller.ts';
import { isTemporary } from '../../kernel/data/db.ts';
import type { Cookies, SecretCookie } from '../../kernel/http/input/secret-cookie.ts';
import { nilUuid } from '../../kernel/ids.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { Client } from '../clients/service.ts';
import { AuthorizationError, refuse, UnusableRequest } from './authorization-error.ts';
import type { AuthorizationDeps } from './feature.ts';
import { type Consenter, type Flow, unknownClient } from './flow.ts';
import {
  type Parameters,
  type RequestedAuthorization,
  readClientId,
  readRedirectUri,
  readRequest,
  readState,
  unknownResource,
} from './parameters.ts';
import { errorAddress } from './redirect.ts';
import { type AuthorizationRequest, findOrganization, insertRequest } from './requests-store.ts';
import { type RequestSignIn, requestPage } from './sign-in.ts';

interface HttpRequest {
  readonly parameters: Parameters;
  readonly cookies: Cookies;
  /** The header `Sec-Fetch-Site`. */
  readonly site: unknown;
  readonly origin: Origin;
}

/** A page of ours instead of a redirect. */
export interface Problem {
  readonly message: string;
  readonly error: string;
  /** Of a client that came by a document. */
  readonly host?: string | undefined;
  /** The way back to the client. */
  readonly back?: string;
}

export type Answer = { readonly location: string; readonly cookie?: string } | { readonly problem: Problem };

export type AuthorizationEndpoint = (request: HttpRequest) => Promise<Answer>;

interface Identified {
  readonly client: Client;
  readonly redirectUri: string;
  readonly redirectUriNamed: boolean;
}

export function createAuthorizationEndpoint(
  deps: AuthorizationDeps,
  flow: Flow,
  signIn: RequestSignIn,
  cookie: SecretCookie,
): AuthorizationEndpoint {
  const { db, clock, ids, log, issuer, clients, connections, authenticateSession, findLendingTarget } = deps;

  /** UnusableRequest unless the client is known, and the redirect URI is one of its own. */
  const identify = async (parameters: Parameters): Promise<Identified> => {
    const clientId = readClientId(parameters);
    const named = readRedirectUri(parameters);
    const client = await clients.resolve(clientId);
    if ('problem' in client)
      throw new UnusableRequest(clientId.startsWith('https://') ? client.problem : unknownClient);
    const host = client.kind === 'document' ? client.host : undefined;
    const [only, ...others] = client.redirectUris;
    const redirectUri = named ?? (others.length === 0 ? only : undefined);
    if (redirectUri === undefined || !clients.matchesRedirectUri(client, redirectUri))
      throw new UnusableRequest(unknownClient, host);
    return { client, redirectUri, redirectUriNamed: named !== undefined };
  };

  /** The person of the session, if it has one. A browser sends the session's cookie from our own pages only. */
  const sessionOf = async (cookies: Cookies, origin: Origin): Promise<Consenter | undefined> => {
    const identity = cookies === undefined ? undefined : await authenticateSession(cookies, { isUse: true });
    if (!identity?.person) return undefined;
    const { agentId, organizationId, sessionId, person } = identity;
    const agent = agentId === nilUuid ? {} : { agentId };
    const { personId } = person;
    return { personId, organizationId, actor: { ...origin, ...agent, organizationId, sessionId, person } };
  };

  /** Undefined for our own API. AuthorizationError `invalid_target` for an API that is not registered. */
  const findTarget = async (resource: string, asking: string | undefined) => {
    if (resource === issuer) return undefined;
    for (const spelling of equivalentUris(resource)) {
      const target = await findLendingTarget(db, spelling, asking);
      if (target) return target;
    }
    return refuse('invalid_target', unknownResource);
  };

  /** The API, and the organization whose people are asked; null: the person chooses it. */
  const choose = async (
    client: Client,
    { resource, organization }: RequestedAuthorization,
    session: Consenter | undefined,
  ): Promise<{ resource: string; organizationId: string | null }> => {
    const named = organization === undefined ? undefined : await findOrganization(db, organization);
    const home = client.kind === 'registered' ? client.organizationId : undefined;
    const asking = home ?? named?.organizationId ?? session?.organizationId;
    const target = await findTarget(resource, asking);
    const chosen = (organizationId: string | null) => ({
      resource: target?.identifier ?? issuer,
      organizationId,
    });
    const mayLend = async (id: string): Promise<boolean> => {
      if (target) return target.organizationIds.includes(id);
      if (home !== undefined) return home === id;
      // A document's client may name any organization of our own API: the answer must not show which slugs exist.
      return session?.organizationId === id || (await connections.haveConnections(db, [id])).has(id);
    };
    if (organization !== undefined)
      return named && (await mayLend(named.organizationId))
        ? chosen(named.organizationId)
        : refuse(
            'invalid_request',
            'there is no such organization, or its people cannot give access to this API',
          );
    if (!target) return chosen(session?.organizationId ?? home ?? null);
    const others = target.organizationIds.filter((id) => id !== target.ownerId);
    const withConnections = await connections.haveConnections(db, others);
    if (withConnections.size === 0) return chosen(target.ownerId);
    return chosen(session && (await mayLend(session.organizationId)) ? session.organizationId : null);
  };

  const requireClient = async (client: Client, organizationId: string | null): Promise<void> => {
    if (client.kind === 'registered' && organizationId !== null && client.organizationId !== organizationId)
      throw new UnusableRequest(unknownClient);
    if (client.kind === 'registered' && client.status !== 'active')
      refuse('unauthorized_client', 'the client is not active');
    const isRefused =
      organizationId !== null && (await clients.admission(db, organizationId, client)) === 'refused';
    if (isRefused) refuse('unauthorized_client', 'the organization does not admit this client');
  };

  const requireKnownScopes = async (
    { scopes, resource }: RequestedAuthorization,
    organizationId: string | null,
  ) => {
    if (!scopes) return;
    const target = await flow.targetOf(resource, organizationId ?? undefined);
    const unknown = scopes.filter((scope) => !target.scopes.some(({ name }) => name === scope));
    if (unknown.length > 0) refuse('invalid_scope', 'the API has no such scope');
  };

  const store = async (
    { client, redirectUri, redirectUriNamed }: Identified,
    wanted: RequestedAuthorization,
    organizationId: string | null,
    { cookies, foreignStart }: { cookies: Cookies; foreignStart: boolean },
  ) => {
    const isDocument = client.kind === 'document';
    const { organization: _, ...stored } = wanted;
    const request: AuthorizationRequest = {
      ...stored,
      requestId: ids.uuid(),
      organizationId,
      clientAgentId: isDocument ? null : client.agentId,
      clientUri: isDocument ? client.clientUri : null,
      clientDocument: isDocument ? client.document : null,
      redirectUri,
      redirectUriNamed,
      foreignStart,
      personId: null,
      expiresAt: new Date(clock.now() + limits.authorizationRequestSeconds * 1_000).toISOString(),
      decidedAt: null,
    };
    // Requests in other tabs of the browser stay valid.
    const secret = cookie.read(cookies) ?? ids.secret('');
    const browserHash = hashSecret(secret);
    await insertRequest(db, browserHash, request);
    return { request, browserHash, cookie: cookie.set(secret) };
  };

  const proceed = async (identified: Identified, http: HttpRequest): Promise<Answer> => {
    const { client } = identified;
    const requested = readRequest(http.parameters, issuer);
    const session = await sessionOf(http.cookies, http.origin);
    const { organizationId, resource } = await choose(client, requested, session);
    const wanted = { ...requested, resource };
    await requireClient(client, organizationId);
    await requireKnownScopes(wanted, organizationId);
    await flow.requireDetails(wanted, organizationId ?? undefined);

    const { prompt } = wanted;
    const isOwnStart = http.site === 'none' || http.site === 'same-origin';
    const isUsable = session?.organizationId === organizationId && !prompt.includes('login');
    const person = isUsable ? session : undefined;
    const isSilent = prompt.includes('none');
    if (isSilent && !person) refuse('login_required', 'the person has not signed in');
    const { cookie: setCookie, ...own } = await store(identified, wanted, organizationId, {
      cookies: http.cookies,
      foreignStart: !isOwnStart,
    });
    const goTo = (location: string) => ({ location, cookie: setCookie });
    const { requestId } = own.request;
    // The page asks again with the session's cookie, which a navigation from another site does not carry.
    if (!isSilent && !isOwnStart && http.site !== undefined) return goTo(requestPage(requestId));
    if (!person) return goTo(await signIn.start(own.request));
    const offer = await flow.offer(own.request, client, person);
    const answer = isOwnStart ? await flow.reuse(own, client, person, offer) : undefined;
    if (answer === undefined && isSilent) refuse('consent_required', 'the person has to be asked');
    return goTo(answer ?? requestPage(requestId));
  };

  const toAuthorizationError = (error: unknown, { requestId }: Origin): AuthorizationError => {
    if (error instanceof AuthorizationError) return error;
    if (isTemporary(error))
      return new AuthorizationError('temporarily_unavailable', 'the service cannot answer now');
    log.error({ err: error, requestId }, 'authorization request failed');
    return new AuthorizationError('server_error', 'the service failed');
  };

  return async (http) => {
    try {
      const identified = await identify(http.parameters);
      const { client, redirectUri } = identified;
      try {
        return await proceed(identified, http);
      } catch (error) {
        if (error instanceof UnusableRequest) throw error;
        const refused = toAuthorizationError(error, http.origin);
        const back = errorAddress({ redirectUri, state: readState(http.parameters) }, refused, issuer);
        if (client.kind === 'registered') return { location: back };
        const { message, code } = refused;
        // Anybody can publish a document: its client gets no redirect before the person has decided (RFC 9700 §4.11.2).
        return { problem: { message: sentence(message), error: code, host: client.host, back } };
      }
    } catch (error) {
      if (!(error instanceof UnusableRequest)) throw error;
      return { problem: { message: error.message, error: 'invalid_request', host: error.host } };
    }
  };
}

export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
