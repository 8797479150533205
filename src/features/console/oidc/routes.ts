import Type from '../../../contract/json-schema.ts';
import {
  open,
  optionalSession,
  type RouteEntry,
  redirect,
  rootRoute,
  session,
} from '../../../kernel/http/route.ts';
import {
  CallbackQuery,
  Choice,
  ConnectionTest,
  InvitationParams,
  ProviderIdentity,
  SignInOptions,
  StartedTest,
  StartQuery,
  TestedConnection,
} from './schema.ts';
import type { ProviderSignInService, Step } from './service.ts';

const limit = 'caller';
const tag = 'Console';

type SetHeader = (name: string, value: string) => void;

const setCookies = (header: SetHeader, cookies: readonly string[]) => {
  header('cache-control', 'no-store');
  for (const cookie of cookies) header('set-cookie', cookie);
};

const follow = (header: SetHeader, { location, cookies }: Step) => {
  setCookies(header, cookies);
  return redirect(location);
};

/** A repeated parameter stays repeated: the provider's answer with one is invalid. */
const parametersOf = (query: object): URLSearchParams =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)])),
  );

export const providerSignInRoutes = (signIns: ProviderSignInService): RouteEntry[] => [
  rootRoute({
    id: 'signInOptions',
    summary: 'How people can sign in to the console: the OpenID provider, if one is configured',
    tag,
    method: 'GET',
    url: '/console/api/sign-in-options',
    access: open(),
    limit: 'console',
    hidden: true,
    schema: { response: { 200: SignInOptions } },
    handler: () => signIns.options(),
  }),
  rootRoute({
    id: 'startProviderSignIn',
    summary: 'Sends the browser to the OpenID provider',
    tag,
    hidden: true,
    method: 'GET',
    url: '/console/api/oidc/start',
    access: open(),
    limit,
    schema: { query: StartQuery, response: { 302: Type.Null() } },
    handler: async ({ origin, query, headers, header }) => {
      const { returnTo, connectionId, requestId, prompt } = query as Record<string, unknown>;
      const [site, cookies] = [headers['sec-fetch-site'], headers.cookie as string | undefined];
      return follow(
        header,
        await signIns.start(origin, { returnTo, connectionId, requestId, prompt, site, cookies }),
      );
    },
  }),
  rootRoute({
    id: 'finishProviderSignIn',
    summary: 'Where the OpenID provider sends the browser back to',
    tag,
    hidden: true,
    method: 'GET',
    url: '/console/api/oidc/callback',
    access: open(),
    limit,
    schema: { query: CallbackQuery, response: { 302: Type.Null() } },
    handler: async ({ origin, query, headers, header }) =>
      follow(header, await signIns.finish(origin, headers.cookie as string | undefined, parametersOf(query))),
  }),
  rootRoute({
    id: 'providerIdentity',
    summary: 'The identity that the provider has confirmed to this browser, and its organizations',
    tag,
    method: 'GET',
    url: '/console/api/oidc/identity',
    // For its check of the origin: the answer belongs to a cookie.
    access: optionalSession(),
    limit,
    hidden: true,
    schema: { response: { 200: ProviderIdentity } },
    errors: ['UNAUTHORIZED'],
    handler: ({ headers, header }) => {
      header('cache-control', 'no-store');
      return signIns.identity(headers.cookie as string | undefined);
    },
  }),
  rootRoute({
    id: 'chooseOrganization',
    summary: 'Ends a sign-in through the provider: creates the session in the chosen organization',
    tag,
    method: 'POST',
    url: '/console/api/oidc/identity',
    access: optionalSession(),
    limit,
    hidden: true,
    schema: { body: Choice, response: { 204: Type.Null() } },
    errors: ['UNAUTHORIZED', 'PERSON_NOT_FOUND'],
    handler: async ({ origin, body, headers, header }) => {
      setCookies(header, await signIns.choose(origin, headers.cookie as string | undefined, body.personId));
    },
  }),
  rootRoute({
    id: 'declineInvitation',
    summary: 'Declines an invitation to an organization, by the identity that the provider has confirmed',
    tag,
    method: 'DELETE',
    url: '/console/api/oidc/invitations/:personId',
    access: optionalSession(),
    limit,
    hidden: true,
    schema: { params: InvitationParams, response: { 204: Type.Null() } },
    errors: ['UNAUTHORIZED', 'PERSON_NOT_FOUND'],
    handler: ({ origin, params, headers }) =>
      signIns.decline(origin, headers.cookie as string | undefined, params.personId),
  }),
  rootRoute({
    id: 'startConnectionTest',
    summary: 'Begins a sign-in through a connection that shows the claims and begins no session',
    tag,
    method: 'POST',
    url: '/console/api/connection-tests',
    access: session(),
    limit,
    quota: 'free',
    hidden: true,
    schema: { body: TestedConnection, response: { 201: StartedTest } },
    errors: ['CONNECTION_NOT_FOUND'],
    handler: async ({ caller, body, header }) => {
      const { location, cookies } = await signIns.startTest(caller, body.connectionId.toLowerCase());
      setCookies(header, cookies);
      return { url: location };
    },
  }),
  rootRoute({
    id: 'getConnectionTest',
    summary: 'The result of the last test of a connection in this browser',
    tag,
    method: 'GET',
    url: '/console/api/connection-tests/latest',
    access: session(),
    limit,
    quota: 'free',
    hidden: true,
    schema: { response: { 200: ConnectionTest } },
    errors: ['CONNECTION_NOT_FOUND'],
    handler: ({ caller, headers, header }) => {
      header('cache-control', 'no-store');
      return signIns.findTest(caller, headers.cookie as string | undefined);
    },
  }),
];
