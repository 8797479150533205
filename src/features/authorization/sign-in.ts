/** How the person of a request can sign in: through a connection of the organization, or through the instance's own provider. */

import { fail } from '../../kernel/fail.ts';
import type { Cookies, SecretCookie } from '../../kernel/http/input/secret-cookie.ts';
import type { AuthorizationDeps } from './feature.ts';
import type { Flow, OwnRequest } from './flow.ts';
import {
  type AuthorizationRequest,
  findOrganization,
  findRequest,
  updateOrganization,
} from './requests-store.ts';
import type { SignInChoice } from './schema.ts';

/** How a client wants the person to sign in. */
export interface RequestPrompt {
  readonly loginHint: string | undefined;
  readonly reauthenticate: boolean;
}

export interface RequestSignIn {
  /** A request that is not decided, in the browser that began it. */
  find(requestId: string, cookies: Cookies): Promise<OwnRequest>;
  /** Of a request of this browser; undefined when it has no such request. */
  findPrompt(requestId: string, cookies: Cookies): Promise<RequestPrompt | undefined>;
  /** The next address of a browser without a session: the provider if there is one way only, otherwise the page that asks. */
  start(request: AuthorizationRequest): Promise<string>;
  describe(requestId: string, cookies: Cookies): Promise<SignInChoice>;
  /** ORG_NOT_FOUND for an unknown organization, and for one whose people cannot lend here. */
  chooseOrganization(requestId: string, cookies: Cookies, slug: string): Promise<SignInChoice>;
}

export const requestPage = (requestId: string): string => `/console/authorize/${requestId}`;

export function createRequestSignIn(
  deps: AuthorizationDeps,
  flow: Flow,
  cookie: SecretCookie,
): RequestSignIn {
  const { db, clock, issuer, connections, hasInstanceProvider, findLendingTarget } = deps;

  const optionsOf = async ({ organizationId, resource }: AuthorizationRequest) => {
    const active = organizationId === null ? [] : await connections.listActive(db, organizationId);
    // Without an organization: people of our own API choose among theirs after the sign-in.
    const mayUseInstance = organizationId === null ? resource === issuer : active.length === 0;
    return { connections: active, instance: hasInstanceProvider && mayUseInstance };
  };

  const findInBrowser = async (requestId: string, cookies: Cookies): Promise<OwnRequest | undefined> => {
    const browserHash = cookie.hashIn(cookies);
    const request = browserHash && (await findRequest(db, requestId, browserHash, new Date(clock.now())));
    return browserHash && request ? { request, browserHash } : undefined;
  };

  const find: RequestSignIn['find'] = async (requestId, cookies) => {
    const own = (await findInBrowser(requestId, cookies)) ?? fail('AUTHORIZATION_REQUEST_NOT_FOUND');
    if (own.request.decidedAt !== null) fail('AUTHORIZATION_REQUEST_DECIDED');
    return own;
  };

  const describe = async (request: AuthorizationRequest): Promise<SignInChoice> => {
    const client = await flow.clientOf(request);
    const { name } = await flow.targetOf(request.resource, request.organizationId ?? undefined);
    const options = await optionsOf(request);
    return {
      requestId: request.requestId,
      organizationNeeded: request.organizationId === null,
      connections: options.connections.map(({ connectionId, name: shown }) => ({
        connectionId,
        name: shown,
      })),
      instance: options.instance,
      client: { name: client.name, host: client.kind === 'document' ? client.host : null },
      resource: { name },
    };
  };

  /** For our own API an organization without connections has no person who could sign in here by its name. */
  const mayLend = async (request: AuthorizationRequest, id: string) => {
    const { resource } = request;
    const client = await flow.clientOf(request);
    const isRegistered = client.kind === 'registered';
    if (isRegistered && client.organizationId !== id) return false;
    if (resource === issuer) return isRegistered || (await connections.haveConnections(db, [id])).has(id);
    return (await findLendingTarget(db, resource, id))?.organizationIds.includes(id) ?? false;
  };

  return {
    find,

    async findPrompt(requestId, cookies) {
      const request = (await findInBrowser(requestId, cookies))?.request;
      return (
        request && {
          loginHint: request.loginHint ?? undefined,
          reauthenticate: request.prompt.includes('login'),
        }
      );
    },

    async start(request) {
      const { requestId, organizationId } = request;
      const options = await optionsOf(request);
      const [first, ...others] = options.connections;
      const address = (query: Record<string, string>) =>
        `/console/api/oidc/start?${new URLSearchParams({ ...query, requestId })}`;
      if (organizationId === null || others.length > 0) return requestPage(requestId);
      if (first) return address({ connectionId: first.connectionId });
      return options.instance ? address({}) : requestPage(requestId);
    },

    describe: async (requestId, cookies) => describe((await find(requestId, cookies)).request),

    async chooseOrganization(requestId, cookies, slug) {
      const { request } = await find(requestId, cookies);
      const organization = await findOrganization(db, slug);
      if (!organization || !(await mayLend(request, organization.organizationId)))
        return fail('ORG_NOT_FOUND', {
          message: 'There is no such organization, or its people cannot give access to this API.',
        });
      const { organizationId } = organization;
      await updateOrganization(db, requestId, organizationId);
      return describe({ ...request, organizationId });
    },
  };
}
