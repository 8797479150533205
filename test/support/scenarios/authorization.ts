/** People who let clients act for them: an organization with a connection and an API, clients, and the way of a browser between them. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOutbound } from '../../../src/adapters/outbound/outbound.ts';
import { createBrowser, type TestBrowser } from '../clients/browser.ts';
import { type Answer, newAgent, startApp } from '../harness.ts';
import { startReceiver, trustTestAuthority } from '../peers/receivers.ts';
import { startSignInProvider } from '../peers/sign-in-provider.ts';
import { callback } from './people.ts';
import { newResource } from './resources/resources.ts';

export const baseUrl = 'https://countersign.test';
export const redirectUri = 'https://app.example/callback';

export interface TestClient {
  /** Form fields that authenticate it at the token endpoint. */
  readonly credentials: Record<string, string>;
  readonly clientId: string;
  readonly agentId?: string;
  readonly redirectUri: string;
}

export interface CodeRequest {
  readonly client: TestClient;
  readonly verifier: string;
  readonly parameters: Record<string, string>;
  readonly url: string;
}

export const challengeOf = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url');

export async function createAuthorizationScenario(changes: Record<string, string> = {}) {
  const issuer = changes.BASE_URL ?? baseUrl;
  trustTestAuthority();
  const provider = await startSignInProvider([issuer + callback]);
  const outbound = createOutbound({
    allowPrivate: false,
    resolve: async () => ['127.0.0.1'],
    isPublic: (address) => address === '127.0.0.1',
    delay: (_, signal) => sleep(50, undefined, { signal }),
  });
  const t = await startApp({ BASE_URL: baseUrl, ...changes }, undefined, { outbound });
  const { organizationId } = t.operator;

  const operate = async (
    method: 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'GET',
    url: string,
    payload?: object,
  ) => {
    const answer = await t.call(method, `/api/v1${url}`, {
      token: await t.token(),
      ...(payload && { payload }),
    });
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.text === '' ? undefined : answer.json;
  };

  const connect = (orgId: string, name = 'Company') =>
    operate('POST', `/organizations/${orgId}/connections`, {
      name,
      issuer: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
    });
  const connection = await connect(organizationId);
  const makeResource = (more: object = {}) =>
    operate('POST', '/resources', newResource({ peopleScopes: ['orders:read', 'orders:write'], ...more }));
  const resource = await makeResource();

  const confidential = async (more: object = {}) => {
    const agent = await t.agent({ redirectUris: [redirectUri], ...more });
    const { agentId, clientId, clientSecret } = agent;
    return {
      agent,
      agentId,
      clientId,
      redirectUri,
      credentials: { client_id: clientId, client_secret: clientSecret },
    };
  };

  const publicClient = async (uri = redirectUri): Promise<TestClient> => {
    const agent = newAgent({ redirectUris: [uri], publicClient: true });
    const { agentId } = await operate('POST', '/agents', agent);
    return { agentId, clientId: agentId, redirectUri: uri, credentials: { client_id: agentId } };
  };

  /** Documents by their path. */
  const documents = new Map<string, object>();
  const host = await startReceiver(({ url }, response) => {
    const document = documents.get(url);
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' });
    response.end(document && JSON.stringify(document));
  });
  const documentClient = (more: object = {}): TestClient & { readonly path: string } => {
    const path = `/clients/${randomUUID()}.json`;
    const clientId = `https://receiver.test:${host.port}${path}`;
    documents.set(path, {
      client_id: clientId,
      client_name: 'Example application',
      redirect_uris: [redirectUri],
      ...more,
    });
    return { clientId, redirectUri, path, credentials: { client_id: clientId } };
  };

  const newRequest = (client: TestClient, more: Record<string, string | undefined> = {}): CodeRequest => {
    const verifier = randomBytes(32).toString('base64url');
    const all: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
      resource: resource.identifier,
      state: 'a state',
      ...more,
    };
    const parameters = Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
    return {
      client,
      verifier,
      parameters,
      url: `/api/v1/authorize?${new URLSearchParams(parameters)}`,
    };
  };

  const newBrowser = () => createBrowser(t, issuer);

  /** Through the provider's page; returns the answer to the callback. */
  const logIn = async (browser: TestBrowser, url: string, login: string) => {
    const page = await browser.visit(url);
    assert.equal(page.status, 200, page.text);
    const back = await browser.visit(page.url, {
      method: 'POST',
      form: { login, answer: 'yes' },
      stopAt: callback,
    });
    assert.ok(back.location?.includes(callback), `${back.status} ${back.text}`);
    return browser.request(back.location as string);
  };

  const startOf = (connectionId: string = connection.connectionId) =>
    `/console/api/oidc/start?connectionId=${connectionId}`;

  /** A browser with a session of a member, who is new unless the login is known. */
  const member = async (login = `person-${randomUUID()}`) => {
    const browser = newBrowser();
    const answer = await logIn(browser, startOf(), login);
    assert.equal(answer.location, '/console', answer.text);
    const session = await browser.request('/console/api/session');
    const personId: string = session.json.person.personId;
    return { browser, login, personId };
  };

  const requestIdIn = (location: string | undefined): string => {
    const [, requestId] = /^\/console\/authorize\/([0-9a-f-]{36})$/.exec(location ?? '') ?? [];
    assert.ok(requestId, String(location));
    return requestId;
  };

  const pathOf = (requestId: string) => `/console/api/authorization-requests/${requestId}`;

  /** Up to the consent page of a browser whose person has signed in. */
  const ask = async (browser: TestBrowser, { url }: { url: string | URL }): Promise<string> =>
    requestIdIn((await browser.request(url)).location);

  const decide = (browser: TestBrowser, requestId: string, decision: object = { decision: 'approve' }) =>
    browser.change('POST', pathOf(requestId), decision);

  /** The parameters of an answer to the client. */
  const answerIn = (location: string | undefined, uri = redirectUri): Record<string, string> => {
    assert.ok(location?.startsWith(`${uri}?`), String(location));
    return Object.fromEntries(new URL(String(location)).searchParams);
  };

  /** The person in the browser agrees to the request at this address. Returns the client's redirect URI with the answer. */
  const agree = async (browser: TestBrowser, url: string | URL, decision?: object): Promise<string> => {
    const answer = await decide(browser, await ask(browser, { url }), decision);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.redirectTo;
  };

  /** A code that the person has just agreed to. */
  const consent = async (browser: TestBrowser, request: CodeRequest, decision?: object): Promise<string> => {
    const location = await agree(browser, request.url, decision);
    const { code, state, iss } = answerIn(location, request.client.redirectUri);
    assert.deepEqual([state, iss], [request.parameters.state, issuer]);
    return String(code);
  };

  const exchange = (
    { client, verifier }: CodeRequest,
    code: string,
    more: Record<string, string> = {},
  ): Promise<Answer> =>
    t.askToken({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
      ...client.credentials,
      ...more,
    });

  const refresh = (client: TestClient, refreshToken: string, more: Record<string, string> = {}) =>
    t.askToken({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      ...client.credentials,
      ...more,
    });

  /** A new consent of the person in the browser. */
  const grant = async (
    browser: TestBrowser,
    client: TestClient,
    more: Record<string, string | undefined> = {},
    decision?: object,
  ) => {
    const request = newRequest(client, more);
    const answer = await exchange(request, await consent(browser, request, decision));
    assert.equal(answer.status, 200, answer.text);
    return { request, tokens: answer.json as Record<string, string> };
  };

  const tokensFor = async (...wanted: Parameters<typeof grant>) => (await grant(...wanted)).tokens;

  /** The same, of a new member. */
  const granted = async (client: TestClient, more: Record<string, string | undefined> = {}) => {
    const person = await member();
    return { ...person, ...(await grant(person.browser, client, more)) };
  };

  const isActive = async (token: string | undefined): Promise<boolean> =>
    (await t.form('/api/v1/token/introspect', { token: String(token) }, await t.token())).json.active;

  return {
    t,
    issuer,
    provider,
    organizationId,
    operate,
    connect,
    connection,
    resource,
    makeResource,
    confidential,
    publicClient,
    documents,
    documentClient,
    newRequest,
    newBrowser,
    logIn,
    startOf,
    member,
    requestIdIn,
    pathOf,
    ask,
    decide,
    answerIn,
    agree,
    consent,
    exchange,
    refresh,
    tokensFor,
    granted,
    isActive,
  };
}
