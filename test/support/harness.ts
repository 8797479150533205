/** The test harness: an app on its own database, an operator, tokens and agents. */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { after, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InjectOptions } from 'fastify';
import pg from 'pg';
import { type App, type AppOptions, createApp } from '../../src/app.ts';
import { createOperator, type Operator } from '../../src/commands/bootstrap.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import type { Tx } from '../../src/kernel/data/db.ts';
import { createLog } from '../../src/kernel/observability/log.ts';

const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run tests through npm test (npm test -- <file> for one)`);
  return value;
};

/** The wall clock, until a test moves it. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void;
}

export function createTestClock(): TestClock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    advance(milliseconds) {
      ahead += milliseconds;
    },
  };
}

/** Advances to the start of a minute, so that no rate window ends during a test. */
export const startOfMinute = (clock: TestClock): void => clock.advance(60_000 - (clock.now() % 60_000));

/** A database cloned from the migrated template by file copy, which is faster; dropped when the test file ends. */
export const createDatabase = (): Promise<string> => copyDatabase(requiredVariable('TEST_POSTGRES_URL'));

/** A copy of a database, as a backup of this moment; no session may be connected to the original. */
export async function copyDatabase(original: string): Promise<string> {
  const template = new URL(original);
  const name = `t_${randomBytes(8).toString('hex')}`;
  const maintenance = new URL('/postgres', template).href;
  await execute(
    maintenance,
    `create database ${name} template ${template.pathname.slice(1)} strategy file_copy`,
  );
  after(() => execute(maintenance, `drop database if exists ${name} with (force)`));
  return new URL(`/${name}`, template).href;
}

/** An empty database, for tests of migration. */
export async function createEmptyDatabase(): Promise<string> {
  const server = new URL(requiredVariable('TEST_POSTGRES_URL'));
  const name = `t_${randomBytes(8).toString('hex')}`;
  const maintenance = new URL('/postgres', server).href;
  await execute(maintenance, `create database ${name} template template0`);
  after(() => execute(maintenance, `drop database if exists ${name} with (force)`));
  return new URL(`/${name}`, server).href;
}

export async function execute<Row = Record<string, unknown>>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * The same, on connections that stay open until the test file ends: to open one costs more than most statements. A statement
 * that changes its session gets a session of its own.
 */
function createSql(url: string): TestApp['sql'] {
  const pool = new pg.Pool({ connectionString: url, max: 10, idleTimeoutMillis: 0 });
  // Dropping the database ends its sessions.
  pool.on('error', () => {});
  after(() => pool.end());
  return async (text, values = []) =>
    /^\s*set\b/i.test(text) ? execute(url, text, values) : (await pool.query(text, values)).rows;
}

/** On a busy machine fifty concurrent requests may wait long for a connection; none may fail for that. */
export const withLongConnectTimeout = (databaseUrl: string): string =>
  `${databaseUrl}?connectionTimeoutMillis=60000`;

/** The variables of a working instance, with changes. */
export const environment = (databaseUrl: string, changes: Record<string, string> = {}) => ({
  DATABASE_URL: databaseUrl,
  REDIS_URL: 'memory://',
  JWT_PRIVATE_KEY: requiredVariable('TEST_PRIVATE_KEY'),
  JWT_PUBLIC_KEY: requiredVariable('TEST_PUBLIC_KEY'),
  BASE_URL: 'http://countersign.test',
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOG_LEVEL: 'silent',
  // Tests run several workers at a time.
  WORKER_PORT: '0',
  ...changes,
});

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | number | undefined>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape, and a wrong guess fails the assertion that follows; `unknown` would put a cast before each of hundreds
  readonly json: any;
}

export interface TestApp {
  readonly app: App;
  /** Before the test file ends. */
  stop(): Promise<void>;
  readonly clock: TestClock;
  readonly databaseUrl: string;
  readonly operator: Operator;
  readonly logs: string[];
  call(
    method: InjectOptions['method'],
    url: string,
    options?: Omit<InjectOptions, 'method' | 'url'> & { token?: string },
  ): Promise<Answer>;
  /** POST /token with form fields. */
  askToken(fields: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** POST with form fields. */
  form(url: string, fields: Record<string, string>, token?: string): Promise<Answer>;
  /** An access token: the operator's, or that of the client given. */
  token(scope?: string, client?: { clientId: string; clientSecret: string }): Promise<string>;
  /** An agent with a credential, created by the operator. */
  agent(
    changes?: Record<string, unknown>,
  ): Promise<{ agentId: string; clientId: string; clientSecret: string }>;
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
}

export const newAgent = (changes: Record<string, unknown> = {}) => ({
  email: `agent-${randomBytes(6).toString('hex')}@example.com`,
  agentType: 'screener',
  version: '1.0.0',
  capabilities: ['resume:read'],
  owner: 'talent-team',
  deploymentEnv: 'production',
  ...changes,
});

/** A console of a few files: the real one takes seconds to build. */
export const consoleFixture = fileURLToPath(new URL('../fixtures/console-build', import.meta.url));

const noDocs = fileURLToPath(new URL('../fixtures/no-docs-build', import.meta.url));

/** A documentation of a few files. Without it an app of a test has none, whether one is built or not. */
export const docsFixture = fileURLToPath(new URL('../fixtures/docs-build', import.meta.url));

interface AppChanges extends Pick<AppOptions, 'consoleFolder' | 'docsFolder' | 'outbound'> {
  readonly clock?: TestClock;
}

/** With `other`: another node on its database, with the same operator, and the same clock unless a clock is given. */
export async function startApp(
  changes: Record<string, string> = {},
  other?: TestApp,
  { clock = other?.clock ?? createTestClock(), ...options }: AppChanges = {},
): Promise<TestApp> {
  const databaseUrl = other?.databaseUrl ?? (await createDatabase());
  const logs: string[] = [];
  const config = loadConfig(environment(withLongConnectTimeout(databaseUrl), changes));
  const log = createLog({ level: config.logLevel, destination: { write: (line) => void logs.push(line) } });
  const app = await createApp({ config, log, clock, docsFolder: noDocs, ...options });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= app.close());
  after(stop);
  await app.prepare();
  const operator = other?.operator ?? (await createOperator(app, false));

  const call: TestApp['call'] = async (method, url, { token, ...options } = {}) => {
    const response = await app.http.server.inject({
      ...options,
      method,
      url,
      headers: { ...options.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    } as InjectOptions);
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.body,
      get json() {
        return JSON.parse(response.body);
      },
    };
  };

  const askToken: TestApp['askToken'] = (fields, headers = {}) =>
    call('POST', '/api/v1/token', {
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });

  const form: TestApp['form'] = (url, fields, bearer) =>
    call('POST', url, {
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      ...(bearer !== undefined && { token: bearer }),
    });

  const token: TestApp['token'] = async (scope, client = operator) => {
    const { status, text, json } = await askToken({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      ...(scope !== undefined && { scope }),
    });
    if (status !== 200) throw new Error(`no token: ${status} ${text}`);
    return json.access_token;
  };

  return {
    app,
    stop,
    clock,
    databaseUrl,
    operator,
    logs,
    call,
    askToken,
    form,
    token,
    async agent(agentChanges) {
      const bearer = await token();
      const { agentId } = (
        await call('POST', '/api/v1/agents', { token: bearer, payload: newAgent(agentChanges) })
      ).json;
      const credential = (await call('POST', `/api/v1/agents/${agentId}/credentials`, { token: bearer }))
        .json;
      return { agentId, clientId: credential.clientId, clientSecret: credential.clientSecret };
    },
    sql: createSql(databaseUrl),
  };
}

/** Skips the test when the machine lacks a program, and reports it; with REQUIRE_ALL=1 it fails. */
export function skipWithout(t: TestContext, what: string): void {
  if (process.env.REQUIRE_ALL === '1') throw new Error(`REQUIRE_ALL=1, but ${what} is not here`);
  if (process.env.TEST_SKIPS) appendFileSync(process.env.TEST_SKIPS, `${t.fullName}: needs ${what}\n`);
  t.skip(`needs ${what}`);
}

/** Runs the work in a transaction that stays open until the returned function is called. */
export async function keepOpen({ app }: TestApp, work: (tx: Tx) => Promise<unknown>) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const done = app.db.transaction(async (tx) => {
    await work(tx);
    isHeld();
    await released;
  });
  await Promise.race([held, done]);
  return async () => {
    release();
    await done;
  };
}
