import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import type { Config } from '../../kernel/config/config.ts';
import { shownConfiguration } from '../../kernel/config/shown-values.ts';
import { variables } from '../../kernel/config/variables.ts';
import type { InstanceState } from './schema.ts';

const t = await startApp({
  METRICS_TOKEN: 'secret-of-metrics',
  CORS_ORIGIN: 'https://a.example,https://b.example',
});
const read = async (app = t): Promise<InstanceState> => {
  const answer = await app.call('GET', '/api/v1/instance', { token: await app.token() });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};

describe('GET /instance', () => {
  it('200: versions, start, the active key and the newest tree head', async () => {
    await t.app.audit.linkAll();
    const { version, node, startedAt, signingKeys, audit } = await read();
    assert.match(version, /^\d+\.\d+\.\d+/);
    assert.equal(node, process.version);
    assert.ok(Date.parse(startedAt) <= t.clock.now());
    const [key] = (await t.call('GET', '/.well-known/jwks.json')).json.keys;
    assert.equal(signingKeys.length, 1);
    assert.deepEqual(
      { ...signingKeys[0], signsSince: undefined },
      { keyId: key.kid, algorithm: key.alg, status: 'active', signsSince: undefined },
    );
    assert.ok(signingKeys[0]?.signsSince);
    assert.equal(audit.linking, 'ok');
    assert.ok((audit.treeHead?.number ?? 0) >= 1);
    assert.equal(audit.treeHead?.keyId, key.kid);
  });

  it('200: settings without secrets', async () => {
    const text = JSON.stringify(await read());
    assert.ok(!text.includes('secret-of-metrics'));
    assert.ok(!text.includes('PRIVATE KEY'));
    const { password } = new URL(t.databaseUrl);
    assert.ok(password === '' || !text.includes(password));
    const { configuration } = JSON.parse(text) as InstanceState;
    const entry = (name: string) => configuration.find((each) => each.name === name);
    assert.deepEqual([entry('METRICS_TOKEN')?.value, entry('METRICS_TOKEN')?.hidden], [null, true]);
    assert.deepEqual([entry('JWT_PRIVATE_KEY')?.value, entry('JWT_PRIVATE_KEY')?.isSet], [null, true]);
    assert.equal(entry('RATE_LIMIT_PER_MINUTE')?.value, '1000000');
    assert.equal(entry('CORS_ORIGIN')?.value, 'https://a.example, https://b.example');
    assert.match(entry('DATABASE_URL')?.value ?? '', /^postgres(ql)?:\/\/[^@?]+$/);
    assert.deepEqual([entry('NATS_URL')?.isSet, entry('NATS_URL')?.hidden], [false, false]);
  });

  it('200: a key after a rotation, and a retired one', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const old = (await read()).signingKeys[0];
    const keys = {
      JWT_PRIVATE_KEY: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
      JWT_PUBLIC_KEY: String(publicKey.export({ format: 'pem', type: 'spki' })),
    };
    const rotated = await startApp(
      { ...keys, JWT_PREVIOUS_PUBLIC_KEYS: process.env.TEST_PUBLIC_KEY ?? '' },
      t,
    );
    const during = (await read(rotated)).signingKeys;
    assert.deepEqual(
      during.map(({ status, algorithm }) => [status, algorithm]),
      [
        ['active', 'EdDSA'],
        ['previous', old?.algorithm],
      ],
    );
    const after = (await read(await startApp(keys, t))).signingKeys;
    assert.deepEqual(
      after.map(({ keyId, status }) => [keyId, status]),
      [
        [during[0]?.keyId, 'active'],
        [old?.keyId, 'retired'],
      ],
    );
  });

  it('403 INSUFFICIENT_SCOPE for all but the operator', async () => {
    const answer = await t.call('GET', '/api/v1/instance', { token: await t.token('audit:read') });
    assert.deepEqual([answer.status, answer.json.code], [403, 'INSUFFICIENT_SCOPE']);
  });
});

describe('the settings that are shown', () => {
  it('no text, unless it is listed; addresses without user, password and parameters', () => {
    const config = Object.fromEntries(Object.keys(variables).map((key) => [key, `marker-${key}`]));
    const url = 'postgres://marker-user:marker-password@db.example:5432/name?sslpassword=marker';
    const shown = shownConfiguration({
      ...config,
      databaseUrl: url,
      redisUrl: 'rediss://:marker@redis.example:6379',
      signingKeys: {},
    } as unknown as Config);
    assert.deepEqual(
      shown.filter(({ value }) => value?.includes('marker')).map(({ name }) => name),
      [
        'HOST',
        'BASE_URL',
        'NODE_ENV',
        'TRUST_PROXY',
        'CORS_ORIGIN',
        'UNREGISTERED_RESOURCES',
        'RESOURCE_IDENTIFIERS',
        'POLICIES_DIR',
        'DATABASE_POOLER',
        'LOG_LEVEL',
        'LOG_REQUESTS',
        'AUDIT_ARCHIVE_URL',
        'AUDIT_ARCHIVE_ENDPOINT',
        'AUDIT_ARCHIVE_REGION',
        'KAFKA_BROKERS',
        'KAFKA_TOPIC_PREFIX',
        'KAFKA_SASL_MECHANISM',
        'STRIPE_API_URL',
        'CONSOLE_OIDC_ISSUER',
        'CONSOLE_OIDC_CLIENT_ID',
        'CONSOLE_OIDC_NAME',
      ].sort(
        (one, other) =>
          shown.findIndex(({ name }) => name === one) - shown.findIndex(({ name }) => name === other),
      ),
    );
    const values = new Map(shown.map(({ name, value }) => [name, value]));
    assert.equal(values.get('DATABASE_URL'), 'postgres://db.example:5432/name');
    assert.equal(values.get('REDIS_URL'), 'rediss://redis.example:6379');
  });
});
