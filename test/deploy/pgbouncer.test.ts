/** PostgreSQL through PgBouncer in transaction mode, with fewer server connections than clients. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { startPgBouncer } from '../support/deploy/databases/pgbouncer.ts';
import {
  createDatabase,
  createEmptyDatabase,
  environment,
  execute,
  newAgent,
  skipWithout,
  withLongConnectTimeout,
} from '../support/harness.ts';
import { authorityFile, startReceiver } from '../support/peers/receivers.ts';
import {
  askToken,
  authorize,
  makeOperator,
  type Program,
  type Service,
  startCountersign,
  startServe,
  until,
} from '../support/programs.ts';
import { startTraffic } from '../support/traffic.ts';

const poolSize = 4;

/** The server's own time zone is far from UTC: nothing may depend on it. */
async function start(t: TestContext, databaseUrl: string) {
  const name = new URL(databaseUrl).pathname.slice(1);
  await execute(databaseUrl, `alter database ${name} set timezone = 'Pacific/Auckland'`);
  const pooler = await startPgBouncer(databaseUrl, { poolSize });
  if (!pooler) return skipWithout(t, 'pgbouncer');
  const env = environment(withLongConnectTimeout(pooler.through(databaseUrl)), {
    DATABASE_POOLER: 'transaction',
    LOG_LEVEL: 'info',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
    NODE_EXTRA_CA_CERTS: authorityFile,
  });
  return { env, pooler, name };
}

async function post(service: Service, path: string, headers: Record<string, string>, body: unknown) {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201, await response.clone().text());
  return response.json() as Promise<Record<string, string>>;
}

/** Runs requests, a webhook and the audit log through the pooler, with a serving process and a worker. */
async function exercise(databaseUrl: string, env: Record<string, string>) {
  const operator = await makeOperator(env);
  const service = await startServe(env, ['--no-worker']);
  const worker = startCountersign(['worker'], env);
  const headers = await authorize(service.url, operator);
  const receiver = await startReceiver();
  await post(service, '/webhooks', headers, {
    name: 'Receiver',
    url: receiver.url,
    events: ['agent.created'],
  });
  const traffic = startTraffic(
    Array.from({ length: 6 }, () => () => askToken(service.url, operator)).concat(() =>
      fetch(`${service.url}/api/v1/agents`, { headers }),
    ),
  );
  await until('three hundred answers', async () => traffic.responses().length > 300 || undefined, worker);
  const { agentId } = await post(service, '/agents', headers, newAgent());
  await until(
    'the delivery',
    async () => receiver.received.some(({ body }) => body.includes(String(agentId))) || undefined,
    worker,
  );
  const responses = await traffic.stop();
  assert.deepEqual(new Set(responses.map(({ outcome }) => outcome)), new Set([200]));

  const backends = await execute<{ count: number }>(
    databaseUrl,
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name = 'countersign'`,
  );
  assert.ok((backends[0]?.count ?? 99) <= poolSize, 'no more server connections than the pooler allows');
  await assertAuditIntact(service, headers);
  const output = `${service.program.output()}${worker.output()}`;
  assert.doesNotMatch(output, /prepared statement|background loop (failed|postponed)|"err":/);
  return { service, worker };
}

async function assertAuditIntact(service: Service, headers: Record<string, string>): Promise<void> {
  const events = await until('all events are linked', async () => {
    const answer = await fetch(`${service.url}/api/v1/audit/verify`, { headers });
    const { verified, checkedCount } = (await answer.json()) as { verified: boolean; checkedCount: number };
    assert.equal(verified, true);
    return checkedCount > 50 ? checkedCount : undefined;
  });
  assert.ok(events > 50);
}

const exitOf = async (program: Program) => ({ code: await program.gone(), output: program.output() });

describe('PgBouncer in transaction mode', { concurrency: 2 }, () => {
  test('tokens, webhooks and the audit log work, with notifications by DATABASE_DIRECT_URL', async (t) => {
    const databaseUrl = await createDatabase();
    const started = await start(t, databaseUrl);
    if (!started) return;
    const env = { ...started.env, DATABASE_DIRECT_URL: withLongConnectTimeout(databaseUrl) };
    const { worker } = await exercise(databaseUrl, env);
    const listening = await execute(
      databaseUrl,
      `select from pg_stat_activity where datname = current_database() and application_name = 'countersign-listen'`,
    );
    assert.equal(listening.length, 1, 'the worker listens on a connection of its own');
    assert.doesNotMatch(worker.output(), /no notifications through the pooler/);

    const verified = await exitOf(startCountersign(['audit', 'verify'], env));
    assert.equal(verified.code, 0, verified.output);
    assert.match(verified.output, /The audit log is intact/);
  });

  test('without DATABASE_DIRECT_URL: two nodes migrate at once, and webhooks are found by polling', async (t) => {
    const databaseUrl = await createEmptyDatabase();
    const started = await start(t, databaseUrl);
    if (!started) return;
    const migrations = await Promise.all([
      exitOf(startCountersign(['migrate'], started.env)),
      exitOf(startCountersign(['migrate'], started.env)),
    ]);
    assert.deepEqual(
      migrations.map(({ code }) => code),
      [0, 0],
      migrations.map(({ output }) => output).join('\n'),
    );
    const [applied] = await execute<{ versions: number; latest: number }>(
      databaseUrl,
      'select count(*)::int as versions, max(version) as latest from schema_migrations',
    );
    assert.equal(applied?.versions, applied?.latest);
    const { worker } = await exercise(databaseUrl, started.env);
    assert.match(worker.output(), /no notifications through the pooler without DATABASE_DIRECT_URL; polling/);
    const listening = await execute(
      databaseUrl,
      `select from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
    );
    assert.deepEqual(listening, []);
  });

  test('sessions have our time zone and timeouts, and none is left behind for another client', async (t) => {
    const databaseUrl = await createDatabase();
    const started = await start(t, databaseUrl);
    if (!started) return;
    const { createPostgres } = await import('../../src/adapters/postgres/postgres.ts');
    const { createLog } = await import('../../src/kernel/observability/log.ts');
    const { createMetrics } = await import('../../src/kernel/observability/metrics.ts');
    const { sql, prepared } = await import('../../src/kernel/data/sql.ts');
    const open = (noStatementTimeout: boolean) =>
      createPostgres({
        url: started.env.DATABASE_URL,
        pooler: 'transaction',
        poolSize: 6,
        log: createLog({ level: 'silent' }),
        metrics: createMetrics(),
        noStatementTimeout,
      });
    const settings = sql`select current_setting('timezone') as zone, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`;
    const usual = open(false);
    const patient = open(true);
    t.after(() => Promise.all([usual.close(), patient.close()]));
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const db = index % 2 === 0 ? usual : patient;
          const inside = await db.transaction((tx) => tx.one('test.settings', prepared(settings)));
          assert.deepEqual(inside, { zone: 'UTC', statement: index % 2 === 0 ? '20s' : '0', idle: '1min' });
          const alone = await db.one('test.alone', prepared(settings));
          assert.deepEqual(alone, { zone: 'UTC', statement: '0', idle: '0' });
        }),
      );
  });

  test('session mode with ignore_startup_parameters needs no variable', async (t) => {
    const databaseUrl = await createEmptyDatabase();
    const pooler = await startPgBouncer(databaseUrl, {
      poolSize,
      settings: {
        pool_mode: 'session',
        ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout',
      },
    });
    if (!pooler) return skipWithout(t, 'pgbouncer');
    const env = environment(withLongConnectTimeout(pooler.through(databaseUrl)), { DATABASE_POOL_SIZE: '1' });
    const { code, output } = await exitOf(startCountersign(['bootstrap'], env));
    assert.equal(code, 0, output);
  });

  const contradictions = {
    'DATABASE_PREPARED_STATEMENTS=true': {
      DATABASE_POOLER: 'transaction',
      DATABASE_PREPARED_STATEMENTS: 'true',
    },
    'DATABASE_POOLER=none': { DATABASE_POOLER: 'none' },
  };
  for (const [what, variables] of Object.entries(contradictions))
    test(`without prepared statements in the pooler, and ${what}: the start fails and names the variables`, async (t) => {
      const databaseUrl = await createDatabase();
      const pooler = await startPgBouncer(databaseUrl, {
        poolSize,
        preparedStatements: false,
        settings: { ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout' },
      });
      if (!pooler) return skipWithout(t, 'pgbouncer');
      const pooled = withLongConnectTimeout(pooler.through(databaseUrl));
      for (const direct of [{}, { DATABASE_DIRECT_URL: withLongConnectTimeout(databaseUrl) }]) {
        const env = environment(pooled, { ...variables, ...direct });
        const { code, output } = await exitOf(startCountersign(['serve'], env));
        assert.equal(code, 1, output);
        assert.match(
          output,
          /^countersign: a pooler in transaction mode .*DATABASE_POOLER=transaction, and remove DATABASE_PREPARED_STATEMENTS/m,
        );
        assert.doesNotMatch(output, /^ +at /m);
      }
    });

  test('without DATABASE_POOLER the start fails, and says which variable is missing', async (t) => {
    const databaseUrl = await createDatabase();
    const started = await start(t, databaseUrl);
    if (!started) return;
    const { code, output } = await exitOf(
      startCountersign(['serve'], { ...started.env, DATABASE_POOLER: 'none' }),
    );
    assert.equal(code, 1);
    assert.match(output, /unsupported startup parameter: \w+_timeout.*DATABASE_POOLER=transaction/);
  });
});
