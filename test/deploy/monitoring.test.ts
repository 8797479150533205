/** A real Prometheus with our rules scrapes a real server and a real worker. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  dashboardQueries,
  metricsIn,
  type Prometheus,
  readRules,
  type Sample,
  startPrometheus,
} from '../support/deploy/monitoring.ts';
import {
  createDatabase,
  environment,
  execute,
  newAgent,
  skipWithout,
  withLongConnectTimeout,
} from '../support/harness.ts';
import { newLogKey, startWitness, verifierKeyOf, witnessVariables } from '../support/peers/witnesses.ts';
import {
  askToken,
  authorize,
  freePort,
  makeOperator,
  startCountersign,
  startRedis,
  startServe,
  until,
  untilHealthy,
} from '../support/programs.ts';

const metricsToken = 'scrape-me';

/** They need a limit or a partner. Their type is exposed from the start. */
const rare = new Set([
  'service_rate_limit_hits_total',
  'service_billing_limit_rejections_total',
  'service_federation_events_total',
]);

/** Streams without a broker: the outbox has events. One attempt per webhook: the first failure is a dead letter. */
async function start(t: TestContext) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const databaseUrl = await createDatabase();
  const AUDIT_LOG_KEY = newLogKey();
  const witness = await startWitness('witness.example', [verifierKeyOf(AUDIT_LOG_KEY)]);
  const archive = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
  t.after(() => rmSync(archive, { recursive: true, force: true }));
  const env = environment(withLongConnectTimeout(databaseUrl), {
    AUDIT_LOG_KEY,
    AUDIT_ARCHIVE_URL: pathToFileURL(archive).href,
    ...witnessVariables([witness], 1),
    REDIS_URL: redis.url,
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    METRICS_TOKEN: metricsToken,
    WEBHOOK_MAX_RETRIES: '1',
  });
  const operator = await makeOperator(env);
  const { url, port } = await startServe(env, ['--no-worker']);
  const workerPort = await freePort();
  const worker = startCountersign(['worker'], {
    ...env,
    HOST: '127.0.0.1',
    WORKER_PORT: String(workerPort),
  });
  await untilHealthy(workerPort, worker);

  const headers = await authorize(url, operator);
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.ok(response.ok, `${path}: ${response.status} ${await response.text()}`);
  };
  const receiver = `https://127.0.0.1:${await freePort()}/`;
  await post('webhooks', { name: 'Receiver', url: receiver, events: ['agent.created'] });
  const createAgent = () => post('agents', newAgent());
  await createAgent();
  await post('ssf/stream', { delivery: { method: 'urn:ietf:rfc:8936' } });
  const { access_token: token } = (await (await askToken(url, operator)).json()) as { access_token: string };
  const revoked = await fetch(`${url}/api/v1/token/revoke`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ token }),
  });
  assert.equal(revoked.status, 200, await revoked.text());

  const expositions = async () =>
    Promise.all(
      [port, workerPort].map(async (each) => {
        const response = await fetch(`http://127.0.0.1:${each}/metrics`, {
          headers: { authorization: `Bearer ${metricsToken}` },
        });
        assert.equal(response.status, 200);
        return response.text();
      }),
    );
  /** Requests that succeed and that are refused. */
  const traffic = async () => {
    const answers = [
      await askToken(url, operator),
      await askToken(url, { ...operator, clientSecret: 'cs_wrong' }),
      await fetch(`${url}/api/v1/agents`, { headers }),
      await fetch(`${url}/api/v1/webhooks`, { headers }),
      await fetch(`${url}/api/v1/nowhere`, { headers }),
    ];
    for (const answer of answers) await answer.arrayBuffer();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 401, 200, 200, 404],
    );
  };
  return { databaseUrl, port, workerPort, expositions, traffic, createAgent };
}

const has = (texts: readonly string[], pattern: RegExp) => texts.some((text) => pattern.test(text));

/** Series of a metric; for a histogram its count. */
const seriesOf = (name: string) => new RegExp(`^${name}(_count)?(\\{.*\\})? [-\\d.e+]+$`, 'm');

const firing = async (prometheus: Prometheus, alert: string) =>
  (await prometheus.alerts()).filter(({ labels, state }) => labels.alertname === alert && state === 'firing');

describe('monitoring', async () => {
  it('shows data for every panel and rule, and an alert when the audit log was changed', async (t) => {
    const instance = await start(t);
    if (!instance) return;
    const { databaseUrl, port, workerPort, expositions, traffic, createAgent } = instance;
    const prometheus = await startPrometheus(
      { countersign: port, 'countersign-worker': workerPort },
      metricsToken,
    );
    if (!prometheus) return skipWithout(t, 'prometheus (Debian package prometheus)');

    await t.test('the server or the worker exposes every metric of the dashboards and rules', async () => {
      const expressions = [...dashboardQueries(), ...readRules()].map(({ expr }) => expr);
      const names = [...new Set(expressions.flatMap(metricsIn))];
      assert.ok(names.length > 40);
      let missing: string[] = names;
      await until('all metrics', async () => {
        await traffic();
        const texts = await expositions();
        missing = names.filter(
          (name) => !has(texts, rare.has(name) ? new RegExp(`^# TYPE ${name} `, 'm') : seriesOf(name)),
        );
        return missing.length === 0 || undefined;
      }).catch((error) => assert.fail(`${error.message}: ${missing.join(', ')}`));
    });

    await t.test('the worker runs the loops, the server does not', async () => {
      const [server, worker] = await expositions();
      assert.match(server ?? '', /^service_background_worker 0$/m);
      assert.match(worker ?? '', /^service_background_worker 1$/m);
    });

    await t.test('both targets are up, and every recording rule has a value', async () => {
      await until('two targets', async () => (await prometheus.query('up == 1')).length === 2 || undefined);
      for (const { record } of readRules()) {
        if (record === undefined) continue;
        // Failures of the server are not part of the traffic.
        const expr = record.includes('errors:increase') ? 'countersign:requests:rate5m' : record;
        const sample: Sample = await until(record, async () => {
          await traffic();
          return (await prometheus.query(`${expr} >= 0`))[0];
        });
        assert.ok(Number.isFinite(Number(sample.value[1])), record);
      }
    });

    await t.test(
      'Prometheus evaluates every query of the dashboards, and has data for those of the traffic',
      async () => {
        // Loops that fail are not part of the traffic.
        const mayBeEmpty = [...rare, 'outcome!="ok"'];
        const queries = dashboardQueries().filter(
          ({ expr }) => !mayBeEmpty.some((part) => expr.includes(part)),
        );
        assert.ok(queries.length > 50);
        for (const { expr } of dashboardQueries()) await prometheus.query(expr);
        // A scrape that fails on a busy machine leaves a gap.
        for (const { panel, expr } of queries)
          await until(`${panel}: ${expr}`, async () => (await prometheus.query(expr))[0]);
      },
    );

    await t.test(
      'a dead letter raises an alert, and a healthy instance no other of those without delay',
      async () => {
        await createAgent();
        await until('the alert', async () => (await firing(prometheus, 'WebhookDeadLetters'))[0]);
        const failing = await until(
          'the organization with the broken receiver',
          async () => (await prometheus.query('service_webhook_organizations{outcome="failed"} > 0'))[0],
        );
        assert.equal(failing.value[1], '1');
        for (const alert of ['AuditLogNotIntact', 'BackgroundLoopFailing'])
          assert.deepEqual(await firing(prometheus, alert), []);
      },
    );

    await t.test('AuditLogNotIntact fires after an event was changed', async () => {
      await until(
        'the first check',
        async () => (await prometheus.query('service_audit_chain_integrity == 1'))[0],
      );
      await execute(
        databaseUrl,
        `set session_replication_role = replica;
         update audit_events set user_agent = 'changed' where action = 'agent.created'`,
      );
      const alert = await until('the alert', async () => (await firing(prometheus, 'AuditLogNotIntact'))[0]);
      assert.equal(alert.labels.severity, 'critical');
    });
  });
});
