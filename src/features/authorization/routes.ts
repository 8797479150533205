import Type from '../../contract/json-schema.ts';
import type { Origin } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import { pagePolicy } from '../../kernel/http/responses/html-page.ts';
import {
  open,
  optionalSession,
  type RouteEntry,
  redirect,
  refusalPage,
  rootRoute,
  route,
  session,
} from '../../kernel/http/route.ts';
import type { ConsentService } from './consent.ts';
import type { Answer, AuthorizationEndpoint } from './endpoint.ts';
import { errorPage } from './error-page.ts';
import type { Parameters } from './parameters.ts';
import {
  AuthorizationParameters,
  ConsentAnswer,
  ConsentDecision,
  ConsentQuestion,
  OrganizationName,
  RequestParams,
  SignInChoice,
} from './schema.ts';
import type { RequestSignIn } from './sign-in.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;
type SetHeader = (name: string, value: string) => void;

const cookiesOf = ({ cookie }: Headers): string | undefined => cookie as string | undefined;

const wantsJson = ({ accept }: Headers): boolean =>
  typeof accept === 'string' && accept.includes('application/json') && !accept.includes('text/html');

const requestOf = (parameters: object, headers: Headers, origin: Origin) => ({
  parameters: parameters as Parameters,
  cookies: cookiesOf(headers),
  site: headers['sec-fetch-site'],
  origin,
});

function send(answer: Answer, headers: Headers, header: SetHeader) {
  if ('location' in answer) {
    if (answer.cookie !== undefined) header('set-cookie', answer.cookie);
    return redirect(answer.location);
  }
  const { message, ...details } = answer.problem;
  if (wantsJson(headers)) return fail('VALIDATION_ERROR', { message, details });
  header('content-security-policy', pagePolicy);
  return refusalPage(400, errorPage(answer.problem));
}

const authorizing = {
  tag: 'Tokens',
  url: '/authorize',
  access: open(),
  limit: 'caller',
  // A browser opens it. The OpenAPI document names its address in the flow of the security scheme.
  hidden: true,
} as const;

const ofRequest = {
  tag: 'Console',
  limit: 'caller',
  quota: 'free',
  hidden: true,
} as const;

const requestUrl = '/console/api/authorization-requests/:requestId';

export const authorizationRoutes = (
  authorize: AuthorizationEndpoint,
  consents: ConsentService,
  signIn: RequestSignIn,
): RouteEntry[] => [
  route({
    ...authorizing,
    id: 'authorize',
    summary: 'Ask a person to let a client act for them (RFC 6749 §4.1, with PKCE)',
    description:
      'Opened in a browser, with `response_type=code`, `client_id`, `redirect_uri`, `code_challenge`, `code_challenge_method=S256` and `resource`; optional are `scope`, `state`, `prompt`, `login_hint`, `organization` and `dpop_jkt` (RFC 9449: the code is bound to the key). The person signs in and decides. An unknown client or redirect URI is answered with a page.',
    method: 'GET',
    schema: { query: AuthorizationParameters, response: { 302: Type.Null() } },
    handler: async ({ query, headers, header, origin }) =>
      send(await authorize(requestOf(query, headers, origin)), headers, header),
  }),
  route({
    ...authorizing,
    id: 'authorizeByForm',
    summary: 'The same, with the parameters in a form',
    method: 'POST',
    accepts: 'form',
    keepsRepeatedFields: true,
    schema: { body: AuthorizationParameters, response: { 302: Type.Null() } },
    handler: async ({ body, headers, header, origin }) =>
      send(await authorize(requestOf(body, headers, origin)), headers, header),
  }),
  rootRoute({
    ...ofRequest,
    id: 'getAuthorizationRequest',
    summary: 'What a person is asked by a client',
    method: 'GET',
    url: requestUrl,
    access: session(),
    schema: { params: RequestParams, response: { 200: ConsentQuestion } },
    errors: ['FORBIDDEN', 'AUTHORIZATION_REQUEST_NOT_FOUND', 'AUTHORIZATION_REQUEST_DECIDED'],
    handler: ({ caller, params, headers }) => consents.describe(caller, params.requestId, cookiesOf(headers)),
  }),
  rootRoute({
    ...ofRequest,
    id: 'decideAuthorizationRequest',
    summary: "The person's decision; the answer has the address to go back to",
    method: 'POST',
    url: requestUrl,
    access: session(),
    schema: { params: RequestParams, body: ConsentDecision, response: { 200: ConsentAnswer } },
    errors: ['FORBIDDEN', 'AUTHORIZATION_REQUEST_NOT_FOUND', 'AUTHORIZATION_REQUEST_DECIDED'],
    handler: async ({ caller, params, headers, body }) => ({
      redirectTo: await consents.decide(caller, params.requestId, cookiesOf(headers), body),
    }),
  }),
  rootRoute({
    ...ofRequest,
    id: 'getAuthorizationSignIn',
    summary: 'How the person of a request can sign in',
    method: 'GET',
    url: `${requestUrl}/sign-in`,
    // For its check of the origin: the answer belongs to a cookie.
    access: optionalSession(),
    schema: { params: RequestParams, response: { 200: SignInChoice } },
    errors: ['AUTHORIZATION_REQUEST_NOT_FOUND', 'AUTHORIZATION_REQUEST_DECIDED'],
    handler: ({ params, headers }) => signIn.describe(params.requestId, cookiesOf(headers)),
  }),
  rootRoute({
    ...ofRequest,
    id: 'chooseAuthorizationOrganization',
    summary: 'Names the organization whose people the request is for',
    method: 'POST',
    url: `${requestUrl}/sign-in`,
    access: optionalSession(),
    schema: { params: RequestParams, body: OrganizationName, response: { 200: SignInChoice } },
    errors: ['AUTHORIZATION_REQUEST_NOT_FOUND', 'AUTHORIZATION_REQUEST_DECIDED', 'ORG_NOT_FOUND'],
    handler: ({ params, headers, body }) =>
      signIn.chooseOrganization(params.requestId, cookiesOf(headers), body.organization),
  }),
];
