/** `countersign doctor`: real processes, a real server, and each problem that can be produced. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Finding } from '../../src/commands/doctor/check.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { runCommand } from '../support/command-line.ts';
import {
  createDatabase,
  createEmptyDatabase,
  environment,
  execute,
  skipWithout,
} from '../support/harness.ts';
import { startNats } from '../support/peers/brokers.ts';
import { relayTo, startPeer } from '../support/peers/http-peer.ts';
import { authorityFile } from '../support/peers/receivers.ts';
import { useCredentials } from '../support/peers/s3-server.ts';
import {
  authorize,
  freePort,
  startCountersign,
  startRedis,
  startStripeMock,
  withRedis,
} from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-doctor-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const databaseUrl = await createDatabase();
const encryptionKey = Buffer.alloc(32, 5).toString('base64');
const env: Record<string, string> = environment(databaseUrl, {
  PORT: String(port),
  HOST: '127.0.0.1',
  BASE_URL: url,
  DATA_ENCRYPTION_KEY: encryptionKey,
});
const { operator } = await startServerInProcess(env, port);

const run = async (changes: Record<string, string> = {}, args: readonly string[] = []) => {
  const all = { ...env, ...changes };
  // Node reads it when a process starts.
  if ('NODE_EXTRA_CA_CERTS' in changes) {
    const program = startCountersign(['doctor', ...args], all, folder);
    return { code: await program.gone(), output: program.output(), stdout: program.stdout() };
  }
  // OpenTelemetry reads its variables from the process.
  const tracing = Object.entries(changes).filter(([name]) => name.startsWith('OTEL_'));
  Object.assign(process.env, Object.fromEntries(tracing));
  try {
    return await runCommand(['doctor', ...args], { env: all, cwd: folder });
  } finally {
    for (const [name] of tracing) delete process.env[name];
  }
};

/** The findings by name; those of one name are joined. */
async function examine(changes: Record<string, string> = {}, args: readonly string[] = []) {
  const { code, stdout, output } = await run(changes, ['--json', ...args]);
  const { ok, findings } = JSON.parse(stdout || '{}') as { ok: boolean; findings: Finding[] };
  assert.ok(findings, output);
  assert.equal(code, ok ? 0 : 1);
  assert.equal(ok, !findings.some(({ status }) => status === 'problem'));
  for (const { status, remedy, name } of findings)
    assert.equal(typeof remedy, status === 'ok' || status === 'skipped' ? 'undefined' : 'string', name);
  return {
    output,
    statusOf: (name: string) => findings.find((finding) => finding.name === name)?.status,
    is(name: string, status: string, found: RegExp) {
      const matching = findings.filter((finding) => finding.name === name);
      assert.ok(
        matching.some((finding) => finding.status === status && found.test(finding.found)),
        `${name} should be ${status} ${found}:\n${JSON.stringify(matching, null, 2)}`,
      );
    },
    problems: findings.filter(({ status }) => status === 'problem').map(({ name }) => name),
  };
}

describe('countersign doctor', () => {
  it('finds nothing wrong with a healthy server, in words and as JSON', async () => {
    const { code, output, stdout } = await run({}, ['--database-size']);
    assert.equal(code, 0, output);
    assert.match(stdout, /^ok {7}configuration {12}all variables are valid/m);
    assert.match(stdout, /^ok {7}database size {12}\d/m);
    assert.match(stdout, /\n\n0 problems, \d+ warnings?, \d+ ok, \d+ skipped\n$/);
    const found = await examine();
    assert.deepEqual(found.problems, []);
    found.is('database', 'ok', /PostgreSQL 1\d/);
    found.is('migrations', 'ok', /^all \d+ are applied$/);
    found.is('database rights', 'ok', /may create tables/);
    found.is('database clock', 'ok', /agrees/);
    found.is('keys', 'ok', /matches \(RS256, kid /);
    found.is('audit key', 'ok', /signed with JWT_PRIVATE_KEY/);
    found.is('published keys', 'ok', /has all keys/);
    found.is('issuer', 'ok', /127\.0\.0\.1/);
    found.is('server clock', 'ok', /agrees/);
    found.is('proxy headers', 'ok', /X-Forwarded-For is ignored/);
    found.is('request ids', 'ok', /comes back/);
    found.is('policies', 'ok', /built-in/);
    found.is('kafka', 'skipped', /not configured/);
    found.is('audit archive', 'skipped', /not configured/);
    for (const name of ['node', 'open files', 'time zone', 'disk (temporary files)'])
      assert.notEqual(found.statusOf(name), undefined, name);
  });

  it('changes nothing', async () => {
    const count = async () => JSON.stringify(await execute(databaseUrl, 'select count(*) from audit_events'));
    const before = await count();
    await run();
    assert.equal(await count(), before);
  });

  it('without any variable: names them, and checks what it can', async () => {
    const { code, stdout, output } = await runCommand(['doctor', '--json'], { env: {}, cwd: folder });
    assert.equal(code, 1);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const missing = findings.filter(({ name, status }) => name === 'configuration' && status === 'problem');
    assert.deepEqual(
      missing.map(({ found }) => found.split(' ')[0]),
      ['DATABASE_URL', 'REDIS_URL', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY'],
    );
    assert.equal(findings.find(({ name }) => name === 'database')?.status, 'skipped');
    assert.equal(findings.find(({ name }) => name === 'node')?.status, 'ok');
    assert.match(output, /^doctor checks the environment of a server: .* None of them is set here\.$/m);
    assert.doesNotMatch((await run()).output, /None of them is set/);
  });

  it('keys that do not match, are not published, or did not sign the audit log', async () => {
    const { privatePem, publicPem } = generateKeyPair();
    const mismatched = await examine({ JWT_PUBLIC_KEY: publicPem });
    mismatched.is('keys', 'problem', /is not the public half/);
    mismatched.is('configuration', 'problem', /do not belong together/);
    const other = await examine({ JWT_PUBLIC_KEY: publicPem, JWT_PRIVATE_KEY: privatePem });
    assert.deepEqual(other.problems, ['published keys']);
    other.is('published keys', 'problem', /lacks the key of JWT_PUBLIC_KEY/);
    other.is('audit key', 'warning', /signed with the key/);
    const previous = await examine({ JWT_PREVIOUS_PUBLIC_KEYS: publicPem });
    previous.is('published keys', 'warning', /lacks keys of JWT_PREVIOUS_PUBLIC_KEYS/);
    assert.ok(!mismatched.output.includes('PRIVATE KEY-----'));
  });

  it('a check that cannot run hides no other: without a key, with a wrong number', async () => {
    const found = await examine({ JWT_PUBLIC_KEY: '', DATABASE_POOL_SIZE: 'x' });
    assert.deepEqual(new Set(found.problems), new Set(['configuration']));
    for (const name of ['keys', 'audit key', 'published keys', 'database connections'])
      found.is(name, 'skipped', /^not checked: (JWT_PUBLIC_KEY|DATABASE_POOL_SIZE)/);
    for (const name of ['database', 'migrations', 'data encryption', 'issuer', 'proxy headers'])
      assert.equal(found.statusOf(name), 'ok', name);
  });

  it('policies that are no policies', async () => {
    const policies = mkdtempSync(join(folder, 'policies-'));
    writeFileSync(join(policies, 'all.cedar'), 'permit (principal, action, resource;');
    const found = await examine({ POLICIES_DIR: policies });
    found.is('policies', 'problem', /all\.cedar is not a valid policy file/);
  });

  it('an audit archive that can be used, that is missing, that does not answer, and that is wrong', async () => {
    const archive = mkdtempSync(join(folder, 'archive-'));
    const url = pathToFileURL(archive).href;
    const usable = await examine({ AUDIT_ARCHIVE_URL: url });
    usable.is('audit archive', 'ok', /^file:.*: listed; wrote a file, linked it, and removed both$/);
    assert.deepEqual(readdirSync(archive, { recursive: true }), ['.unfinished']);
    const missing = await examine({ AUDIT_ARCHIVE_URL: `${url}/nowhere` });
    missing.is('audit archive', 'problem', /the folder does not exist: create it/);
    // The SDK reads them from the process.
    const end = useCredentials({ accessKeyId: 'key', secretAccessKey: 'hidden-word' });
    const away = await examine({
      AUDIT_ARCHIVE_URL: 's3://bucket/prefix',
      AUDIT_ARCHIVE_ENDPOINT: 'http://127.0.0.1:1',
    }).finally(end);
    away.is(
      'audit archive',
      'problem',
      /^s3:\/\/bucket\/prefix at 127.0.0.1:1: listing failed: .*ECONNREFUSED/,
    );
    assert.doesNotMatch(away.output, /hidden-word/);
    const wrong = await examine({ AUDIT_ARCHIVE_URL: 's3://' });
    wrong.is('configuration', 'problem', /AUDIT_ARCHIVE_URL names no bucket/);
    wrong.is('audit archive', 'skipped', /^not checked: AUDIT_ARCHIVE_URL names no bucket/);
  });

  it('a data folder that cannot be written to; root may write everywhere', async () => {
    const data = mkdtempSync(join(folder, 'data-'));
    chmodSync(data, 0o500);
    const found = await examine({}, ['--data', data]);
    if (process.getuid?.() === 0) found.is('disk (data folder)', 'ok', /free in/);
    else found.is('disk (data folder)', 'problem', /cannot be written to/);
  });
});

describe('countersign doctor and the database', () => {
  it('away, refused, unknown, mute: bounded in time, without the password, and the rest is checked', async () => {
    const address = new URL(databaseUrl);
    const mute = createSocketServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => mute.once('listening', resolve));
    after(() => mute.close());
    const cases: [(url: URL) => void, RegExp][] = [
      [(wrong) => (wrong.port = '1'), /ECONNREFUSED/],
      [(wrong) => (wrong.password = 'hidden-word'), /password authentication failed/],
      [(wrong) => (wrong.pathname = '/nowhere'), /database "nowhere" does not exist/],
      [(wrong) => (wrong.hostname = 'nowhere.invalid'), /ENOTFOUND|EAI_AGAIN/],
      [(wrong) => (wrong.port = String((mute.address() as AddressInfo).port)), /timeout|no result within/],
    ];
    for (const [change, reason] of cases) {
      const wrong = new URL(address);
      change(wrong);
      const found = await examine({ DATABASE_URL: wrong.href });
      found.is('database', 'problem', reason);
      assert.ok(!found.output.includes('hidden-word') && !found.output.includes(address.password || '\0'));
      assert.equal(found.statusOf('issuer'), 'ok');
    }
  });

  it('an empty one, missing, changed and newer migrations', async () => {
    const empty = await examine({ DATABASE_URL: await createEmptyDatabase() });
    empty.is('migrations', 'problem', /is empty/);
    const copy = await createDatabase();
    await execute(copy, "insert into schema_migrations values (9001, '9001_later', 'x', now())");
    (await examine({ DATABASE_URL: copy })).is('migrations', 'warning', /1 of a newer version: 9001_later/);
    await execute(
      copy,
      'delete from schema_migrations where version in (select max(version) from schema_migrations where version < 9000)',
    );
    (await examine({ DATABASE_URL: copy })).is('migrations', 'problem', /1 of \d+ are missing: 0/);
    await execute(copy, "update schema_migrations set checksum = 'x' where version = 1");
    (await examine({ DATABASE_URL: copy })).is('migrations', 'problem', /0001_\w+ in the database differ/);
  });

  it('a role without rights, a read-only database, no durability, too few connections, another encryption key', async () => {
    const copy = new URL(await createDatabase());
    const role = `doctor_${Date.now()}`;
    await execute(copy.href, `create role ${role} login password 'word'`);
    after(() =>
      execute(new URL('/postgres', copy).href, `drop owned by ${role}; drop role if exists ${role}`).catch(
        () => {},
      ),
    );
    await execute(
      copy.href,
      `grant usage on schema public to ${role}; grant select on all tables in schema public to ${role}`,
    );
    const poor = new URL(copy);
    poor.username = role;
    poor.password = 'word';
    (await examine({ DATABASE_URL: poor.href })).is('database rights', 'problem', /may not create tables/);
    await execute(copy.href, `grant create on schema public to ${role}`);
    const foreign = await examine({ DATABASE_URL: poor.href });
    foreign.is(
      'database rights',
      'problem',
      /\d+ tables in the schema public belong to other roles, such as \w+ to/,
    );
    await execute(copy.href, `drop owned by ${role}`);

    const database = copy.pathname.slice(1);
    await execute(copy.href, `alter database ${database} set synchronous_commit = off`);
    (await examine({ DATABASE_URL: copy.href })).is(
      'database durability',
      'warning',
      /synchronous_commit off/,
    );
    await execute(copy.href, `alter database ${database} set default_transaction_read_only = on`);
    (await examine({ DATABASE_URL: copy.href })).is('database', 'problem', /read-only/);

    (await examine({ DATABASE_POOL_SIZE: '500' })).is('database connections', 'problem', /uses up to 502 of/);

    const token = await authorize(url, operator);
    const made = await fetch(`${url}/api/v1/webhooks`, {
      method: 'POST',
      headers: { ...token, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Any', url: 'https://receiver.example/', events: ['agent.created'] }),
    });
    assert.equal(made.status, 201);
    (await examine()).is('data encryption', 'ok', /encrypts all \d+ rows, and decrypts the newest/);
    const { id } = (await made.json()) as { id: string };
    const unreadable = new RegExp(
      `1 encrypted rows cannot be decrypted; the newest of each key: webhook_subscriptions\\.signing_secret ${id} \\(key [0-9a-f]{16}, rows: 1\\)`,
    );
    const next = Buffer.alloc(32, 6).toString('base64');
    for (const key of ['', next])
      (await examine({ DATA_ENCRYPTION_KEY: key })).is('data encryption', 'problem', unreadable);
    const both = { DATA_ENCRYPTION_KEY: next, DATA_ENCRYPTION_PREVIOUS_KEYS: encryptionKey };
    (await examine(both)).is(
      'data encryption',
      'warning',
      /1 of 1 rows are not encrypted with DATA_ENCRYPTION_KEY/,
    );
  });
});

describe('countersign doctor and the other services', () => {
  it('Redis: ok, a replica, full without eviction, away', async (t) => {
    const redis = await startRedis();
    if (!redis) return skipWithout(t, 'redis-server');
    const ok = await examine({ REDIS_URL: redis.url });
    ok.is('redis', 'ok', /Redis \d/);
    ok.is('redis clock', 'ok', /agrees/);
    await withRedis(redis.port, (client) => client.config('SET', 'maxmemory', '100mb'));
    (await examine({ REDIS_URL: redis.url })).is('redis', 'warning', /noeviction/);
    await withRedis(redis.port, (client) => client.call('replicaof', '127.0.0.1', '1'));
    (await examine({ REDIS_URL: redis.url })).is('redis', 'problem', /replica/);
    redis.program.kill('SIGKILL');
    await redis.program.gone();
    const away = await examine({ REDIS_URL: redis.url.replace('//', '//me:hidden-word@') });
    away.is('redis', 'problem', /ECONNREFUSED/);
    assert.ok(!away.output.includes('hidden-word'));
    assert.equal(away.statusOf('database'), 'ok');
  });

  it('Kafka and NATS that cannot be reached, and a sign-in provider that is another', async () => {
    const peer = await startPeer((_, response) => response.end('{"issuer":"https://other.example"}'));
    const found = await examine({
      KAFKA_BROKERS: '127.0.0.1:1',
      NATS_URL: 'nats://me:hidden-word@127.0.0.1:1',
      CONSOLE_OIDC_ISSUER: peer,
      CONSOLE_OIDC_CLIENT_ID: 'console',
      CONSOLE_OIDC_CLIENT_SECRET: 'hidden-word',
    });
    found.is('kafka', 'problem', /./);
    found.is('nats', 'problem', /./);
    found.is('sign-in provider', 'problem', /issuer is "https:\/\/other\.example"/);
    assert.ok(!found.output.includes('hidden-word'));
  });

  it('tracing: a collector that takes traces, one that refuses, none, and bad values', async () => {
    const secret = 'hidden-word';
    const collector = await startPeer((request, response) => {
      const isKnown = request.url === '/v1/traces' && request.headers['x-key'] === secret;
      response.writeHead(isKnown ? 200 : 401).end();
    });
    const key = { OTEL_EXPORTER_OTLP_HEADERS: `x-key=${secret}` };
    const withCollector = { OTEL_EXPORTER_OTLP_ENDPOINT: collector };
    (await examine({ ...key, ...withCollector })).is(
      'tracing',
      'ok',
      /takes traces \(http\/protobuf, always_on\)/,
    );
    const json = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
    (await examine({ ...key, ...withCollector, ...json })).is('tracing', 'ok', /takes traces \(http\/json, /);
    (await examine(withCollector)).is('tracing', 'warning', /does not take traces: Unauthorized/);
    const unreachable = await examine({ ...key, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    unreachable.is('tracing', 'warning', /^http:\/\/127\.0\.0\.1:1 does not take traces/);
    assert.ok(!unreachable.output.includes(secret));
    const bad = await examine({ ...withCollector, OTEL_TRACES_SAMPLER: 'some' });
    bad.is('tracing', 'warning', /off: OTEL_TRACES_SAMPLER must be one of/);
  });

  it('NATS that answers', async (t) => {
    const nats = await startNats();
    if (!nats) return skipWithout(t, 'nats-server');
    (await examine({ NATS_URL: `nats://127.0.0.1:${nats.port}` })).is(
      'nats',
      'ok',
      /is made with the first event/,
    );
  });

  it('Stripe: prices that can be read, and a server that is unreachable', async (t) => {
    const stripe = {
      STRIPE_SECRET_KEY: 'sk_test_hidden-word',
      STRIPE_WEBHOOK_SECRET: 'whsec_hidden-word',
      STRIPE_PRICE_PRO: 'price_1',
      STRIPE_PRICE_ENTERPRISE: 'price_2',
    };
    const away = await examine({ ...stripe, STRIPE_API_URL: 'http://127.0.0.1:1' });
    away.is('stripe', 'problem', /STRIPE_PRICE_PRO cannot be read/);
    assert.ok(!away.output.includes('hidden-word'));
    const mock = await startStripeMock();
    if (!mock) return skipWithout(t, 'stripe-mock');
    (await examine({ ...stripe, STRIPE_SECRET_KEY: 'sk_test_123', STRIPE_API_URL: mock.url })).is(
      'stripe',
      'ok',
      /STRIPE_PRICE_ENTERPRISE is active/,
    );
  });
});

describe('countersign doctor and BASE_URL', () => {
  it('away, another service, a redirect, another issuer', async () => {
    const away = await examine({ BASE_URL: `http://127.0.0.1:${await freePort()}` });
    away.is('base url', 'problem', /does not answer: .*ECONNREFUSED/);
    assert.equal(away.statusOf('database'), 'ok');
    const page = await startPeer((_, response) => response.end('<html>'));
    (await examine({ BASE_URL: page })).is('base url', 'problem', /not as Countersign does/);
    const moved = await startPeer((_, response) =>
      response.writeHead(301, { location: 'https://id.example/' }).end(),
    );
    (await examine({ BASE_URL: moved })).is('base url', 'problem', /redirects to https:\/\/id\.example/);
    const mute = await startPeer(() => {});
    (await examine({ BASE_URL: mute })).is('base url', 'problem', /does not answer/);
    const other = await examine({ BASE_URL: 'https://id.example.com' }, ['--url', url]);
    assert.deepEqual(other.problems, ['issuer']);
    other.is(
      'issuer',
      'problem',
      /is the issuer http:\/\/127\.0\.0\.1.*BASE_URL here is https:\/\/id\.example\.com/,
    );
  });

  it('a wrong clock, headers that a proxy drops', async () => {
    const peer = await startPeer(
      relayTo(url, ({ 'x-request-id': _, ...headers }) => ({
        ...headers,
        date: new Date(Date.now() - 120_000).toUTCString(),
      })),
    );
    const found = await examine({}, ['--url', peer]);
    found.is('server clock', 'problem', /12\d\.\d s behind/);
    found.is('request ids', 'warning', /no X-Request-Id/);
  });

  it('https: without HSTS and without TRUST_PROXY, and with a certificate that is not trusted', async () => {
    const peer = await startPeer(relayTo(url), true);
    const found = await examine({ NODE_EXTRA_CA_CERTS: authorityFile }, ['--url', peer]);
    found.is('https', 'warning', /no Strict-Transport-Security/);
    found.is('proxy headers', 'warning', /TLS ends at a proxy, and TRUST_PROXY is not set/);
    (await examine({}, ['--url', peer])).is('base url', 'problem', /does not answer: .*certificate/);
  });

  it('a server that believes the X-Forwarded-For of any client', async () => {
    const trusting = await freePort();
    const settings = { ...env, PORT: String(trusting), TRUST_PROXY: '127.0.0.1' };
    await startServerInProcess(settings, trusting);
    const args = ['--url', `http://127.0.0.1:${trusting}`];
    // A proxy that passes the header on, before a server that trusts it.
    (await examine({ TRUST_PROXY: '192.0.2.0/24' }, args)).is(
      'proxy headers',
      'problem',
      /believes the X-Forwarded-For of any client/,
    );
    (await examine({ TRUST_PROXY: '127.0.0.1' }, args)).is(
      'proxy headers',
      'skipped',
      /this machine is in TRUST_PROXY itself/,
    );
    (await examine({ TRUST_PROXY: '192.0.2.0/24' })).is('proxy headers', 'ok', /is not believed/);
  });

  it('prints the text of another server as escapes', async () => {
    const hostile = '\u001b[2J\n\u202e';
    const peer = await startPeer((request, response) =>
      response.end(
        request.url === '/health'
          ? JSON.stringify({ status: 'ok', checks: { redis: 'ok' } })
          : JSON.stringify({ issuer: hostile, keys: [hostile, null, 1] }),
      ),
    );
    const { code, output } = await run({}, ['--url', peer]);
    assert.equal(code, 1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
    assert.doesNotMatch(output, /[\u001b\u202e]/);
    assert.match(output, /is the issuer \\u\{001b\}\[2J/);
  });

  it('refuses a wrong --url with code 2', async () => {
    const { code, output } = await run({}, ['--url', 'id.example.com']);
    assert.equal(code, 2);
    assert.match(output, /--url must be an http or https address/);
  });

  it('warns of /metrics without a token in production, and names agents with writing scopes', async () => {
    const production = { NODE_ENV: 'production' };
    const open = await run(production, ['--json']);
    const findingsOf = (text: string) =>
      (JSON.parse(text) as { findings: Finding[] }).findings.filter(({ name }) => name === 'metrics');
    assert.deepEqual(
      findingsOf(open.stdout).map(({ status }) => status),
      ['warning'],
    );
    const closed = await run({ ...production, METRICS_TOKEN: 'secret' }, ['--json']);
    assert.deepEqual(
      findingsOf(closed.stdout).map(({ status }) => status),
      ['ok'],
    );
    assert.match(open.stdout, /1 of 1 agents can change agents, webhooks, APIs or organizations: operator-/);
  });
});
