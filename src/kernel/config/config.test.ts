import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ConfigProblems, type Environment, loadConfig, loadDirectDatabase } from './config.ts';
import { generateKeyPair, type KeyPair, keyKinds } from './keypair.ts';

const pair = generateKeyPair();
const good: Environment = {
  DATABASE_URL: 'postgres://me:hidden@db.example/countersign',
  REDIS_URL: 'redis://redis.example',
  JWT_PRIVATE_KEY: pair.privatePem,
  JWT_PUBLIC_KEY: pair.publicPem,
};

function problemsWith(changes: Environment): readonly string[] {
  try {
    loadConfig({ ...good, ...changes });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigProblems);
    return error.problems;
  }
}

const pems = ({ privateKey, publicKey }: KeyPair) => ({
  JWT_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
});
const allowedKinds =
  /RSA of at least 2048 bits \(RS256\), EC on the curve P-256 \(ES256\) and Ed25519 \(EdDSA\) are allowed/;

describe('configuration', () => {
  it('has the documented defaults', () => {
    const config = loadConfig(good);
    assert.equal(config.port, 3000);
    assert.equal(config.baseUrl, 'http://localhost:3000');
    assert.equal(config.rateLimitPerMinute, 100);
    assert.equal(config.multiTenant, false);
    assert.equal(config.webhooksEnabled, true);
    assert.equal(config.webhookMaxRetries, 10);
    assert.equal(config.webhookWorkerConcurrency, 5);
    assert.equal(config.trustProxy, undefined);
    assert.ok(Object.isFrozen(config));
  });
  it('derives BASE_URL from PORT, and removes a trailing slash', () => {
    assert.equal(loadConfig({ ...good, PORT: '8080' }).baseUrl, 'http://localhost:8080');
    assert.equal(
      loadConfig({ ...good, BASE_URL: 'https://id.example.com/' }).baseUrl,
      'https://id.example.com',
    );
  });
  it('requires BASE_URL with NODE_ENV=production', () => {
    for (const BASE_URL of [undefined, '', ' ']) {
      const [first, ...others] = problemsWith({ NODE_ENV: 'production', BASE_URL });
      assert.match(first ?? '', /^BASE_URL is missing: with NODE_ENV=production/);
      assert.deepEqual(others, []);
    }
    const bad = problemsWith({ NODE_ENV: 'production', BASE_URL: 'https://id.example.com/path', PORT: 'x' });
    assert.deepEqual(
      bad.map((problem) => problem.split(' ').slice(0, 2).join(' ')),
      ['PORT must', 'BASE_URL must'],
    );
    const BASE_URL = 'https://id.example.com';
    assert.equal(loadConfig({ ...good, NODE_ENV: 'production', BASE_URL }).baseUrl, BASE_URL);
  });
  it('allows the embedded billing provider outside production on a single-tenant instance, or on request', () => {
    const BASE_URL = 'https://id.example.com';
    for (const NODE_ENV of ['production', 'development', 'test', undefined])
      for (const MULTI_TENANT of ['true', 'false', undefined])
        for (const BILLING_ALLOW_EMBEDDED of ['true', 'false', undefined]) {
          const { embeddedBilling } = loadConfig({
            ...good,
            ...{ BASE_URL, NODE_ENV, MULTI_TENANT, BILLING_ALLOW_EMBEDDED },
          });
          const single = NODE_ENV !== 'production' && MULTI_TENANT !== 'true';
          assert.equal(embeddedBilling, BILLING_ALLOW_EMBEDDED === 'true' || single);
        }
  });
  it('publishes to Kafka and NATS only when configured', () => {
    const { kafkaBrokers, natsUrl, kafkaTopicPrefix } = loadConfig({
      ...good,
      KAFKA_BROKERS: '',
      NATS_URL: ' ',
    });
    assert.deepEqual([kafkaBrokers, natsUrl, kafkaTopicPrefix], [undefined, undefined, 'countersign']);
    const config = loadConfig({
      ...good,
      KAFKA_BROKERS: 'one.example:9092, [2001:db8::1]:9093',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'me',
      KAFKA_SASL_PASSWORD: 'hidden',
      NATS_URL: 'tls://me:hid%20den@nats.example,nats://token@other.example:4223/',
    });
    assert.deepEqual(config.kafkaBrokers, [
      { host: 'one.example', port: 9092 },
      { host: '2001:db8::1', port: 9093 },
    ]);
    assert.equal(config.kafkaSaslMechanism, 'SCRAM-SHA-512');
    assert.deepEqual(config.natsUrl, ['tls://me:hid%20den@nats.example', 'nats://token@other.example:4223/']);
  });
  it('refuses invalid broker addresses without repeating a password', () => {
    for (const [name, values] of Object.entries({
      KAFKA_BROKERS: [
        'one.example',
        'kafka://one.example:9092',
        'one.example:0',
        'one.example:65536',
        ':9092',
        ',',
        'a b:1',
        'a:1,b',
      ],
      KAFKA_TOPIC_PREFIX: ['.', 'a.', '.a', 'a..b', 'a b', 'a*', 'a/b', '>', 'é', 'x'.repeat(201)],
      KAFKA_SASL_MECHANISM: ['GSSAPI', 'md5'],
      KAFKA_SSL: ['maybe'],
      KAFKA_SSL_CA: ['hidden', '-----BEGIN CERTIFICATE-----'],
      NATS_URL: [
        'one.example:4222',
        'http://me:hidden@one.example',
        'nats://',
        'nats://me:hidden@one.example/path',
        'nats://one.example,me:hidden@x',
      ],
      NATS_CA: ['hidden'],
    }))
      for (const value of values) {
        const problems = problemsWith({ [name]: value }).filter((problem) =>
          problem.startsWith(`${name} must`),
        );
        assert.equal(problems.length, 1, `${name}=${value}: ${problems}`);
        assert.doesNotMatch(problems.join(), /hidden/);
      }
    assert.match(
      problemsWith({ KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: 'me' }).join(),
      /KAFKA_SASL_PASSWORD belong together/,
    );
  });
  it('reads every secret from a file, without the newline at its end', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
    after(() => rmSync(folder, { recursive: true }));
    const secrets = {
      DATABASE_URL: 'postgres://me:hidden@db.example/countersign',
      REDIS_URL: 'rediss://:hidden@redis.example',
      METRICS_TOKEN: 'hidden',
      NATS_URL: 'nats://hidden@nats.example',
      DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      KAFKA_SASL_PASSWORD: 'hidden',
      SMTP_URL: 'smtps://me:hidden@mail.example',
      CONSOLE_OIDC_CLIENT_SECRET: 'hidden',
      STRIPE_SECRET_KEY: 'hidden',
      STRIPE_WEBHOOK_SECRET: 'hidden',
    };
    const others = {
      ...{ KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: 'me', STRIPE_PRICE_PRO: 'a' },
      ...{
        STRIPE_PRICE_ENTERPRISE: 'b',
        CONSOLE_OIDC_ISSUER: 'https://login.example.com',
        CONSOLE_OIDC_CLIENT_ID: 'c',
        MAIL_FROM: 'a@example.com',
      },
    };
    const files = Object.entries(secrets).map(([name, value]) => {
      writeFileSync(join(folder, name), `${value}\n`);
      return [`${name}_FILE`, join(folder, name)];
    });
    const { DATABASE_URL, REDIS_URL, ...keys } = good;
    assert.deepEqual(
      loadConfig({ ...keys, ...others, ...Object.fromEntries(files) }),
      loadConfig({ ...keys, ...others, ...secrets }),
    );
    writeFileSync(join(folder, 'empty'), '\n');
    assert.deepEqual(problemsWith({ METRICS_TOKEN_FILE: join(folder, 'empty') }), [
      'METRICS_TOKEN cannot be read from METRICS_TOKEN_FILE: the file is empty',
    ]);
  });
  it('refuses a share of logged requests that is no number from 0 to 1', () => {
    for (const share of ['0', '1', '0.25']) assert.deepEqual(problemsWith({ LOG_REQUESTS_SHARE: share }), []);
    for (const share of ['2', '-1', '1.5', '.5', '50%', '1e-3'])
      assert.match(
        problemsWith({ LOG_REQUESTS_SHARE: share }).join(),
        /^LOG_REQUESTS_SHARE must be a number from 0 to 1/,
      );
  });
  it('names every missing variable at once', () => {
    const problems = problemsWith({
      DATABASE_URL: undefined,
      REDIS_URL: ' ',
      JWT_PRIVATE_KEY: '',
      JWT_PUBLIC_KEY: '',
    });
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[0]),
      ['DATABASE_URL', 'REDIS_URL', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY'],
    );
  });
  it('names every invalid variable at once, without repeating secrets', () => {
    const problems = problemsWith({
      DATABASE_URL: 'mysql://me:hidden@db',
      PORT: '70000',
      MULTI_TENANT: 'perhaps',
      BASE_URL: 'https://id.example.com/path',
      LOG_LEVEL: 'loud',
      DATA_ENCRYPTION_KEY: 'dG9vIHNob3J0',
      RATE_LIMIT_PER_MINUTE: '1e3',
      TRUST_PROXY: '10.0.0.0/8, nonsense',
    });
    assert.equal(problems.length, 8, problems.join('\n'));
    assert.ok(!problems.join().includes('hidden'));
  });
  it('refuses credentials in an origin instead of dropping them, and does not repeat them', () => {
    for (const name of ['BASE_URL', 'CORS_ORIGIN'])
      for (const url of [
        'http://me:hidden@id.example',
        'http://hidden@id.example/',
        'http://:hidden@id.example/x',
      ])
        assert.deepEqual(problemsWith({ [name]: url }), [
          `${name} must be scheme, host and port only, without credentials`,
        ]);
  });
  it('reads keys from files, and with line breaks written out', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-config-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'key.pem');
    writeFileSync(file, pair.privatePem);
    const config = loadConfig({
      ...good,
      JWT_PRIVATE_KEY: undefined,
      JWT_PRIVATE_KEY_FILE: file,
      JWT_PUBLIC_KEY: pair.publicPem.replaceAll('\n', '\\n'),
    });
    assert.equal(config.signingKeys.publicKey.asymmetricKeyType, 'rsa');
    assert.match(
      problemsWith({ JWT_PRIVATE_KEY: '', JWT_PRIVATE_KEY_FILE: join(folder, 'none') })[0] ?? '',
      /ENOENT/,
    );
  });
  it('refuses an encrypted private key, and says how to decrypt it', () => {
    const key = createPrivateKey(pair.privatePem);
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'hidden', format: 'pem' } as const;
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      const pem = String(key.export({ ...cipher, type }));
      for (const text of [pem, pem.replaceAll('\n', '\\n')])
        assert.deepEqual(problemsWith({ JWT_PRIVATE_KEY: text }), [
          'JWT_PRIVATE_KEY is an encrypted private key; decrypt it first: openssl pkey -in key.pem -out decrypted.pem',
        ]);
    }
  });
  it('prepares statements unless a pooler is in between; migrations go around it', () => {
    const prepares = (changes: Record<string, string>) =>
      loadConfig({ ...good, ...changes }).databasePreparedStatements;
    assert.equal(prepares({}), true);
    assert.equal(prepares({ DATABASE_PREPARED_STATEMENTS: 'false' }), false);
    assert.equal(prepares({ DATABASE_POOLER: 'transaction' }), false);
    assert.equal(prepares({ DATABASE_POOLER: 'transaction', DATABASE_PREPARED_STATEMENTS: 'true' }), true);
    const pooled = { DATABASE_URL: 'postgres://pooler/db', DATABASE_POOLER: 'transaction' };
    assert.deepEqual(loadDirectDatabase(pooled), { url: 'postgres://pooler/db', pooler: 'transaction' });
    assert.deepEqual(loadDirectDatabase({ ...pooled, DATABASE_DIRECT_URL: 'postgres://server/db' }), {
      url: 'postgres://server/db',
      variable: 'DATABASE_DIRECT_URL',
      pooler: 'none',
    });
  });
  it('names a bad broker by its position: it may hold a password', () => {
    assert.deepEqual(problemsWith({ KAFKA_BROKERS: 'one:9092,user:hidden@two:9092' }), [
      'KAFKA_BROKERS must list brokers as host:port, with commas between; broker 2 of 2 is none',
    ]);
  });
  it('refuses ambiguous values', () => {
    const key = Buffer.alloc(32, 0xfb).toString('base64');
    for (const [name, values] of Object.entries({
      METRICS_TOKEN: ['hidden word', 'hidden\u00e9', 'hidden\tx', 'hidden\u0000'],
      DATA_ENCRYPTION_KEY: [
        `${key.slice(0, 20)} ${key.slice(20)}`,
        `${key}!hidden`,
        key.replace('=', ''),
        key.replaceAll('+', '-'),
        Buffer.alloc(31).toString('base64'),
        'f'.repeat(64),
      ],
      TRUST_PROXY: ['0.0.0.0/0', '10.0.0.0/8, ::/0', '10.0.0.0/00', '10.0.0.0/33'],
      POLICIES_DIR: ['/nowhere', process.execPath, dirname(process.execPath)],
    }))
      for (const value of values) {
        const problems = problemsWith({ [name]: value });
        assert.equal(problems.length, 1, `${name}=${value}: ${problems}`);
        assert.ok(problems[0]?.startsWith(`${name} `), problems.join());
        assert.doesNotMatch(problems.join(), /hidden|\+\/v7/);
      }
    const config = loadConfig({
      ...good,
      DATA_ENCRYPTION_KEY: key,
      METRICS_TOKEN: ' a+b/c= ',
      NODE_ENV: 'test',
    });
    assert.deepEqual(config.dataEncryptionKey, Buffer.alloc(32, 0xfb));
    assert.equal(config.metricsToken, 'a+b/c=');
  });
  it('reads further encryption keys, and refuses the same key twice, a wrong length and a bad spelling', () => {
    const [one = '', two = '', three = ''] = [1, 2, 3].map((byte) =>
      Buffer.alloc(32, byte).toString('base64'),
    );
    const config = loadConfig({ ...good, DATA_ENCRYPTION_PREVIOUS_KEYS: ` ${one}\n${two}, ${three}\n` });
    assert.deepEqual(
      config.dataEncryptionPreviousKeys?.map((key) => key[0]),
      [1, 2, 3],
    );
    const problemsOf = (list: string, key = three) =>
      problemsWith({ DATA_ENCRYPTION_KEY: key, DATA_ENCRYPTION_PREVIOUS_KEYS: list });
    assert.deepEqual(problemsOf(`${one} ${one}`), ['DATA_ENCRYPTION_PREVIOUS_KEYS lists the same key twice']);
    assert.deepEqual(problemsOf(`${one} ${three}`), [
      'DATA_ENCRYPTION_PREVIOUS_KEYS lists DATA_ENCRYPTION_KEY itself: it lists the other keys, which only decrypt',
    ]);
    assert.deepEqual(problemsOf(`${one} ${Buffer.alloc(16).toString('base64')}`), [
      'DATA_ENCRYPTION_PREVIOUS_KEYS must be 32 bytes in base64, not 16 (key 2 of 2)',
    ]);
    assert.deepEqual(problemsOf(`hidden${one}`), [
      'DATA_ENCRYPTION_PREVIOUS_KEYS must be 32 bytes in base64, padding included (key 1 of 1)',
    ]);
    assert.match(problemsOf(',')[0] ?? '', /must list keys/);
  });
  it('refuses a variable and its file together', () => {
    const both = {
      JWT_PRIVATE_KEY_FILE: '/nowhere',
      STRIPE_SECRET_KEY: 'hidden',
      STRIPE_SECRET_KEY_FILE: '/x',
    };
    const problems = problemsWith(both).filter((problem) => /both/.test(problem));
    assert.deepEqual(problems, [
      'JWT_PRIVATE_KEY and JWT_PRIVATE_KEY_FILE are both set: remove one of them',
      'STRIPE_SECRET_KEY and STRIPE_SECRET_KEY_FILE are both set: remove one of them',
    ]);
  });
  it('needs all Stripe variables or none, and names the missing ones', () => {
    const all = {
      STRIPE_SECRET_KEY: 'sk_test_hidden',
      STRIPE_WEBHOOK_SECRET: 'whsec_hidden',
      STRIPE_PRICE_PRO: 'price_1',
      STRIPE_PRICE_ENTERPRISE: 'price_2',
    };
    assert.equal(loadConfig({ ...good, ...all }).stripePricePro, 'price_1');
    assert.equal(loadConfig({ ...good, STRIPE_SECRET_KEY: ' ' }).stripeSecretKey, undefined);
    const names = (changes: Record<string, string>) =>
      problemsWith(changes).map((problem) => problem.split(' ')[0]);
    for (const given of Object.keys(all)) {
      assert.deepEqual(
        names({ [given]: all[given as keyof typeof all] }),
        Object.keys(all).filter((name) => name !== given),
      );
      assert.deepEqual(names({ ...all, [given]: '' }), [given]);
    }
    assert.deepEqual(names({ STRIPE_API_URL: 'http://localhost:12111' }), Object.keys(all));
    const odd = problemsWith({ ...all, STRIPE_SECRET_KEY: 'sk_hidden\nx', STRIPE_PRICE_PRO: 'price_2' });
    assert.deepEqual(odd.length, 2);
    assert.ok(!odd.join().includes('hidden'));
  });
  it('needs the mail server and the sender together; the sender is one address', () => {
    const SMTP_URL = 'smtp://me:hidden@mail.example';
    assert.match(problemsWith({ SMTP_URL }).join(), /^MAIL_FROM is missing: mails need both/);
    assert.match(problemsWith({ MAIL_FROM: 'a@example.com' }).join(), /^SMTP_URL is missing/);
    for (const MAIL_FROM of [
      'a@example.com',
      'Countersign <a@example.com>',
      'Équipe 1 <a+b@mail.example.com>',
    ])
      assert.deepEqual(problemsWith({ SMTP_URL, MAIL_FROM }), [], MAIL_FROM);
    const bad = [
      ...['a', 'a@', '@example.com', 'a@example.com, b@example.com', '<a@example.com', 'A <a@example.com> x'],
      ...[
        'A\r\nBcc: b@example.com <a@example.com>',
        '"A" <a@example.com>',
        'a@example.com\nBcc: b@example.com',
      ],
    ];
    for (const MAIL_FROM of bad)
      assert.match(problemsWith({ SMTP_URL, MAIL_FROM }).join(), /^MAIL_FROM must be one e-mail/, MAIL_FROM);
  });
  it('needs all variables of the OpenID provider or none; https, or http on this machine', () => {
    const all = {
      CONSOLE_OIDC_ISSUER: 'https://login.example.com/realm/',
      CONSOLE_OIDC_CLIENT_ID: 'console',
      CONSOLE_OIDC_CLIENT_SECRET: 'hidden',
    };
    assert.equal(loadConfig({ ...good, ...all }).consoleOidcIssuer, all.CONSOLE_OIDC_ISSUER);
    assert.equal(loadConfig(good).consoleOidcIssuer, undefined);
    const missing = problemsWith({ CONSOLE_OIDC_NAME: 'Login' });
    assert.deepEqual(
      missing.map((problem) => problem.split(' ')[0]),
      Object.keys(all),
    );
    assert.deepEqual(problemsWith({ ...all, CONSOLE_OIDC_CLIENT_SECRET: '' }), [
      'CONSOLE_OIDC_CLIENT_SECRET is missing (or CONSOLE_OIDC_CLIENT_SECRET_FILE): people sign in through a provider with all three or none',
    ]);
    for (const issuer of ['http://localhost:8080', 'http://127.0.0.1:8080/realm', 'http://[::1]:8080'])
      assert.deepEqual(problemsWith({ ...all, CONSOLE_OIDC_ISSUER: issuer }), [], issuer);
    const wrong = [
      'http://login.example.com',
      'http://localhost.example.com',
      'http://127.example.com',
      'login.example.com',
      'https://user:hidden@login.example.com',
      'https://login.example.com?a=b',
      'https://login.example.com#a',
    ];
    for (const issuer of wrong) {
      const [problem = '', ...others] = problemsWith({ ...all, CONSOLE_OIDC_ISSUER: issuer });
      assert.match(problem, /^CONSOLE_OIDC_ISSUER must /, issuer);
      assert.deepEqual(others, []);
      assert.ok(!problem.includes('hidden'));
    }
    assert.match(problemsWith({ ...all, CONSOLE_OIDC_NAME: 'a'.repeat(61) }).join(), /at most 60/);
  });
  for (const kind of keyKinds)
    it(`accepts a signing key of the kind ${kind}, and further keys of every kind`, () => {
      const { privatePem, publicPem } = generateKeyPair(kind);
      const further = keyKinds.map((other) => generateKeyPair(other).publicPem).join('');
      assert.deepEqual(
        problemsWith({
          JWT_PRIVATE_KEY: privatePem,
          JWT_PUBLIC_KEY: publicPem,
          JWT_PREVIOUS_PUBLIC_KEYS: further,
        }),
        [],
      );
    });
  for (const [what, keys, message] of [
    ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 }), /is an RSA key of 1024 bits/],
    ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }), /is of type rsa-pss/],
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }), /is an EC key on the curve secp384r1/],
    ['secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' }), /on the curve secp256k1/],
    ['Ed448', generateKeyPairSync('ed448'), /is of type ed448/],
    ['X25519', generateKeyPairSync('x25519'), /is of type x25519/],
    ['DSA', generateKeyPairSync('dsa', { modulusLength: 2048, divisorLength: 256 }), /is of type dsa/],
    ['ML-DSA', generateKeyPairSync('ml-dsa-44'), /is of type ml-dsa-44/],
  ] as const)
    it(`refuses ${what}, and says what is allowed`, () => {
      const { JWT_PRIVATE_KEY, JWT_PUBLIC_KEY } = pems(keys);
      const problems = problemsWith({
        JWT_PRIVATE_KEY,
        JWT_PUBLIC_KEY,
        JWT_PREVIOUS_PUBLIC_KEYS: pair.publicPem + JWT_PUBLIC_KEY,
      });
      assert.equal(problems.length, 3);
      for (const problem of problems) {
        assert.match(problem, message);
        assert.match(problem, allowedKinds);
      }
    });
  for (const [what, changes, message] of [
    [
      'a key pair that does not match',
      { JWT_PUBLIC_KEY: generateKeyPair().publicPem },
      /do not belong together/,
    ],
    ['a private key given as the public one', { JWT_PUBLIC_KEY: pair.privatePem }, /holds a private key/],
    ['memory:// with several processes', { REDIS_URL: 'memory://', WEB_CONCURRENCY: '2' }, /WEB_CONCURRENCY/],
  ] as const) {
    it(`refuses ${what}`, () => assert.match(problemsWith(changes).join('\n'), message));
  }
});
