/** Requests of the console: signing in, and requests with the session cookie. */
import assert from 'node:assert/strict';
import type { InjectOptions } from 'fastify';
import { type Answer, consoleFixture, startApp, type TestApp, type TestClock } from '../harness.ts';

export const sessionUrl = '/console/api/session';

/** On plain http, sessions begin on loopback addresses only. */
export const consoleOrigin = 'http://localhost:3000';

/** As a page of the console sends them. */
export const fromPage = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

export const startConsoleApp = (
  changes: Record<string, string> = {},
  other?: TestApp,
  options: { readonly clock?: TestClock } = {},
): Promise<TestApp> =>
  startApp({ BASE_URL: consoleOrigin, ...changes }, other, { consoleFolder: consoleFixture, ...options });

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ConsoleClient {
  signIn(body: object, headers?: Record<string, string>): Promise<Answer>;
  /** The cookie of a new session, as a browser sends it. */
  cookieOf(client: Client): Promise<string>;
  /** With the session, as a page sends it. A path without /console is one of the mirror. */
  call(
    cookie: string | undefined,
    method: InjectOptions['method'],
    path: string,
    payload?: object,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** A one-time link by a token of the client. */
  link(client?: Client, scope?: string): Promise<Answer>;
  /** 200 while the session is valid. */
  statusOf(cookie: string): Promise<number>;
  /** Changes something with a token of the operator, and returns the answer. */
  operate(method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object): Promise<Answer['json']>;
  /** Signs in with a code 50 times at the same moment: one succeeds. */
  assertSingleUse(code: string): Promise<void>;
}

export function createConsoleClient(t: TestApp): ConsoleClient {
  const signIn: ConsoleClient['signIn'] = (body, headers = {}) =>
    t.call('POST', sessionUrl, { payload: body, headers: { ...fromPage, ...headers } });
  const call: ConsoleClient['call'] = (cookie, method, path, payload, headers = {}) =>
    t.call(method, path.startsWith('/console') ? path : `/console/api/v1${path}`, {
      headers: { ...fromPage, ...(cookie !== undefined && { cookie }), ...headers },
      ...(payload && { payload }),
    });
  return {
    signIn,
    call,
    async cookieOf({ clientId, clientSecret }) {
      const answer = await signIn({ clientId, clientSecret });
      assert.equal(answer.status, 204, answer.text);
      return cookieIn(answer);
    },
    async link(client, scope) {
      return t.call('POST', '/api/v1/console/links', { token: await t.token(scope, client) });
    },
    statusOf: async (cookie) => (await call(cookie, 'GET', sessionUrl)).status,
    async operate(method, path, payload) {
      const token = await t.token();
      const answer = await t.call(method, `/api/v1${path}`, { token, ...(payload && { payload }) });
      assert.ok(answer.status < 300, answer.text);
      return answer.text === '' ? {} : answer.json;
    },
    async assertSingleUse(code) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => signIn({ code })));
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [204, ...Array.from({ length: 49 }, () => 401)]);
    },
  };
}

/** Tries six wrong codes at an instance that allows five requests a minute. Returns the last refusal of the audit log. */
export async function refuseCodes(t: TestApp, limited: TestApp, codes: readonly string[], method: string) {
  const statuses = [];
  for (const code of codes) statuses.push((await createConsoleClient(limited).signIn({ code })).status);
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
  const [refused] = await t.sql<{ metadata: Record<string, unknown>; outcome: string }>(
    `select metadata, outcome from audit_events where action = 'session.refused'
     and metadata->>'method' = $1 order by event_id desc limit 1`,
    [method],
  );
  assert.equal(refused?.outcome, 'failure');
  return refused;
}

export const cookieIn = ({ headers }: Answer): string => String(headers['set-cookie']).split(';')[0] ?? '';
