/** The commands of a server: their requirements, refusals and messages. */
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { scopes } from '../../src/contract/scopes.ts';
import { type RunningCommand, startInProcess } from '../support/commands-in-process.ts';
import { createDatabase, createEmptyDatabase, environment, execute } from '../support/harness.ts';
import {
  askToken,
  freePort,
  type Program,
  startCountersign,
  startServe,
  until,
  untilHealthy,
} from '../support/programs.ts';
import { serveInProcess } from '../support/server-in-process.ts';

const migrations = readdirSync(new URL('../../migrations/', import.meta.url))
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort();

/** Exit code 1 and one message without a stack. */
async function refusalOf(program: Program | RunningCommand): Promise<string> {
  assert.equal(await program.gone(), 1, program.output());
  const said = program.output();
  assert.equal(said.match(/^countersign: /gm)?.length, 1, said);
  assert.doesNotMatch(said, /^ +at /m, 'no stack');
  return said;
}

/** In this process. */
const start = (args: readonly string[], env: Record<string, string>) =>
  startInProcess(args, { env, cwd: tmpdir() });

const pems = (type: 'rsa' | 'ec', modulusLength = 2048) => {
  const { privateKey, publicKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength })
      : generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return {
    JWT_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
};

async function bootstrap(env: Record<string, string>) {
  const program = start(['bootstrap', '--json'], env);
  assert.equal(await program.gone(), 0, program.output());
  return JSON.parse(program.stdout());
}

/** Applies to new connections. */
const setting = (what: string) =>
  `do $$ begin execute format('alter database %I set ${what}', current_database()); end $$`;

describe('a command reports in one line', { concurrency: 3 }, () => {
  const cases: { title: string; args: string[]; holds?: string; says: RegExp }[] = [
    {
      title: 'a database that was never migrated',
      args: ['audit', 'verify'],
      says: /the database lacks our tables; run `countersign migrate`: .*\(see DATABASE_URL\)/,
    },
    {
      title: 'a database with tables of another application',
      args: ['migrate'],
      holds: 'create table agents (name text)',
      says: /tables of the same names that are not ours.*"agents" already exists \(see DATABASE_URL\)/,
    },
    {
      title: 'the migration table of another application',
      args: ['migrate'],
      holds: 'create table schema_migrations (version varchar primary key)',
      says: /^countersign: the database has a table schema_migrations that is not ours/m,
    },
    {
      title: 'a changed migration',
      args: ['serve'],
      holds: `create table schema_migrations
                (version int primary key, name text, checksum text, applied_at timestamptz);
              insert into schema_migrations values (1, '0001', 'other', now())`,
      says: /^countersign: migration 0001_\w+ was changed after it had been applied to this database/m,
    },
    {
      title: 'a search path without a schema',
      args: ['serve'],
      holds: setting('search_path = nowhere'),
      says: /^countersign: .*search_path.*: no schema has been selected to create in \(see DATABASE_URL\)$/m,
    },
    {
      title: 'a read-only database',
      args: ['serve'],
      holds: setting('default_transaction_read_only = on'),
      says: /^countersign: the database is read-only: cannot execute CREATE TABLE in a read-only transaction \(see DATABASE_URL\)$/m,
    },
    {
      title: 'a data folder that is a file',
      args: ['dev', '--data', fileURLToPath(import.meta.url)],
      says: /EEXIST.*commands\.test\.ts/,
    },
  ];
  for (const { title, args, holds, says } of cases) {
    test(title, async () => {
      const databaseUrl = await createEmptyDatabase();
      if (holds !== undefined) await execute(databaseUrl, holds);
      assert.match(await refusalOf(start(args, environment(databaseUrl))), says);
    });
  }
});

test('migrate reports in one line a role that may not create tables', async (t) => {
  const url = new URL(await createEmptyDatabase());
  const role = `role_${url.pathname.slice(3)}`;
  await execute(url.href, `create role ${role} login password 'hunter2'`);
  t.after(() => execute(new URL('/postgres', url).href, `drop role ${role}`));
  const asked = Object.assign(new URL(url), { username: role, password: 'hunter2' });
  const said = await refusalOf(start(['migrate'], environment(asked.href)));
  assert.match(
    said,
    /^countersign: the database role lacks a privilege.*: permission denied for schema public \(see DATABASE_URL\)$/m,
  );
});

describe('serve refuses to start', { concurrency: 3 }, () => {
  const cases: { title: string; env: Record<string, string>; says: RegExp[] }[] = [
    {
      title: 'without variables, naming every missing one',
      env: {},
      says: [
        /has 4 problems/,
        /^ {2}- DATABASE_URL is missing/m,
        /^ {2}- REDIS_URL is missing/m,
        /^ {2}- JWT_PRIVATE_KEY is missing \(or JWT_PRIVATE_KEY_FILE\)/m,
        /^ {2}- JWT_PUBLIC_KEY is missing \(or JWT_PUBLIC_KEY_FILE\)/m,
      ],
    },
    {
      title: 'with bad values, naming every one and repeating no secret',
      env: {
        ...environment('mysql://app:hunter2-database@db/countersign'),
        REDIS_URL: 'http://:hunter2-redis@cache',
        JWT_PRIVATE_KEY: 'hunter2-key',
        PORT: '70000',
        MULTI_TENANT: 'perhaps',
        BASE_URL: 'https://id.example.com/path',
        DATA_ENCRYPTION_KEY: 'aHVudGVyMg==',
        TRUST_PROXY: '0.0.0.0/0',
      },
      says: [
        /has 8 problems/,
        /- TRUST_PROXY must list addresses or CIDR ranges; "0\.0\.0\.0\/0" would trust every address/,
        /- DATABASE_URL must be a URL that starts with postgres:/,
        /- REDIS_URL must be a URL that starts with redis:/,
        /- JWT_PRIVATE_KEY is not a private key in PEM form/,
        /- PORT must be a whole number from 1 to 65535, not "70000"/,
        /- MULTI_TENANT must be true or false, not "perhaps"/,
        /- BASE_URL must be scheme, host and port only/,
        /- DATA_ENCRYPTION_KEY must be 32 bytes/,
      ],
    },
    {
      title: 'with NODE_ENV=production and no BASE_URL, naming it with the others',
      env: { ...environment('postgres://db/x'), NODE_ENV: 'production', BASE_URL: '', PORT: '70000' },
      says: [
        /has 2 problems/,
        /^ {2}- PORT must be/m,
        /^ {2}- BASE_URL is missing: with NODE_ENV=production/m,
      ],
    },
    {
      title: 'with the halves of two key pairs',
      env: { ...environment('postgres://db/x'), JWT_PRIVATE_KEY: pems('rsa').JWT_PRIVATE_KEY },
      says: [/has a problem/, /JWT_PRIVATE_KEY and JWT_PUBLIC_KEY do not belong together/],
    },
    {
      title: 'with a key of 1024 bits',
      env: { ...environment('postgres://db/x'), ...pems('rsa', 1024) },
      says: [/JWT_PRIVATE_KEY is an RSA key of 1024 bits/, /JWT_PUBLIC_KEY is an RSA key of 1024 bits/],
    },
    {
      title: 'with a key on another curve than P-256',
      env: { ...environment('postgres://db/x'), ...pems('ec') },
      says: [
        /JWT_PRIVATE_KEY is an EC key on the curve secp384r1; RSA of at least 2048 bits/,
        /JWT_PUBLIC_KEY is an EC key on the curve secp384r1/,
      ],
    },
    {
      title: 'with a key file that cannot be read',
      env: {
        ...environment('postgres://db/x'),
        JWT_PRIVATE_KEY: '',
        JWT_PRIVATE_KEY_FILE: '/nowhere/key.pem',
      },
      says: [/JWT_PRIVATE_KEY cannot be read from JWT_PRIVATE_KEY_FILE \(ENOENT\)/],
    },
  ];
  for (const { title, env, says } of cases) {
    test(title, async () => {
      const said = await refusalOf(start(['serve'], env));
      for (const words of says) assert.match(said, words);
      assert.doesNotMatch(said, /hunter2|aHVudGVyMg/);
    });
  }

  test('while the database cannot be reached, naming it but not its password', async () => {
    const port = await freePort();
    const away = environment(`postgres://app:hunter2@127.0.0.1:${port}/countersign`);
    const said = await refusalOf(start(['serve'], away));
    assert.match(
      said,
      new RegExp(`cannot use the database: .*127\\.0\\.0\\.1:${port} \\(see DATABASE_URL\\)`),
    );
    assert.doesNotMatch(said, /hunter2/);
  });

  test('while the database refuses the connection, with the reason', async () => {
    const unknown = new URL(await createDatabase());
    unknown.pathname = '/unknown';
    const noDatabase = await refusalOf(start(['serve'], environment(unknown.href)));
    assert.match(
      noDatabase,
      /PostgreSQL has no such database; create it: database "unknown" does not exist \(see DATABASE_URL\)/,
    );
    unknown.password = 'hunter2';
    const noEntry = await refusalOf(start(['serve'], environment(unknown.href)));
    assert.match(
      noEntry,
      /PostgreSQL refused the user or the password: password authentication failed .*\(see DATABASE_URL\)/,
    );
    assert.doesNotMatch(noEntry, /hunter2/);
  });

  for (const command of ['migrate', 'serve']) {
    test(`when DATABASE_DIRECT_URL leads to another database (${command}), which stays as it is`, async () => {
      const [databaseUrl, other] = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
      const env = environment(databaseUrl, { DATABASE_DIRECT_URL: other });
      const said = await refusalOf(start([command], env));
      assert.match(said, /DATABASE_DIRECT_URL leads to another database than DATABASE_URL/);
      for (const url of [databaseUrl, other])
        assert.deepEqual(await execute(url, `select 1 from pg_tables where schemaname = 'public'`), []);
    });

    test(`while DATABASE_DIRECT_URL cannot be reached, naming that variable (${command})`, async () => {
      const DATABASE_DIRECT_URL = `postgres://app:hunter2@127.0.0.1:${await freePort()}/countersign`;
      const env = environment(await createEmptyDatabase(), { DATABASE_DIRECT_URL });
      const said = await refusalOf(start([command], env));
      assert.match(said, /cannot use the database: .*ECONNREFUSED.*\(see DATABASE_DIRECT_URL\)/);
      assert.doesNotMatch(said, /hunter2/);
    });
  }

  test('on a port that is in use', async (t) => {
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const env = environment(await createDatabase(), { HOST: '127.0.0.1', PORT: String(port) });
    const said = await refusalOf(start(['serve'], env));
    assert.match(said, new RegExp(`port ${port} is already in use; choose another with PORT`));
  });

  test('on an unknown host name', async () => {
    const env = environment(await createDatabase(), { HOST: 'nowhere.invalid' });
    const said = await refusalOf(start(['serve'], env));
    assert.match(said, /HOST=nowhere\.invalid is not an address of this machine/);
  });
});

test('serve listens on one address of a host name with two: Fastify would add a second server without our settings', async () => {
  const names = `import dns from 'node:dns';
    const both = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    const { lookup } = dns;
    dns.lookup = (name, options, done = options) =>
      name !== 'localhost' ? lookup(name, options, done) : done(null, options.all ? both : '127.0.0.1', 4);`;
  const port = await freePort();
  const program = startCountersign(
    ['serve'],
    environment(await createDatabase(), {
      HOST: 'localhost',
      PORT: String(port),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(names)}`,
    }),
  );
  await untilHealthy(port, program);
  await assert.rejects(once(connect(port, '127.0.0.2'), 'connect'), { code: 'ECONNREFUSED' });
});

describe('migrate', () => {
  test('applies missing migrations with DATABASE_URL alone, and is then up to date', async () => {
    const DATABASE_URL = await createEmptyDatabase();
    const first = start(['migrate'], { DATABASE_URL });
    assert.equal(await first.gone(), 0, first.output());
    assert.equal(first.output(), `Applied: ${migrations.join(', ')}\n`);
    const second = start(['migrate'], { DATABASE_URL });
    assert.equal(await second.gone(), 0, second.output());
    assert.equal(second.output(), 'The database is up to date.\n');
    assert.match(await refusalOf(start(['migrate'], {})), /a problem:\n.*DATABASE_URL is missing/);

    await execute(
      DATABASE_URL,
      `insert into schema_migrations values (9998, '9998_a', '', now()), (9999, '9999_b', '', now())`,
    );
    const older = start(['migrate'], { DATABASE_URL });
    assert.equal(await older.gone(), 0, older.output());
    assert.match(older.output(), /"level":40.*"migrations":\["9998_a","9999_b"\].*newer version/);
  });

  test('applies each migration once when several commands migrate concurrently', async () => {
    const DATABASE_URL = await createEmptyDatabase();
    const programs = [1, 2, 3].map(() => start(['migrate'], { DATABASE_URL }));
    for (const program of programs) assert.equal(await program.gone(), 0, program.output());
    const said = programs.map((program) => program.output()).join('');
    const applied = said.matchAll(/^Applied: (.*)$/gm).flatMap(([, names = '']) => names.split(', '));
    assert.deepEqual([...applied].sort(), migrations);
    await assertMigratedOnce(DATABASE_URL);
  });

  test('runs once when two nodes start concurrently on an empty database; both serve', async () => {
    const url = await createEmptyDatabase();
    await Promise.all([serveInProcess(environment(url)), serveInProcess(environment(url))]);
    await assertMigratedOnce(url);
  });
});

async function assertMigratedOnce(databaseUrl: string): Promise<void> {
  const rows = await execute(databaseUrl, 'select name from schema_migrations order by version');
  assert.deepEqual(
    rows.map(({ name }) => name),
    migrations,
  );
}

test('keys prints a pair that serve accepts', async () => {
  const keys = start(['keys'], {});
  assert.equal(await keys.gone(), 0, keys.output());
  const [privatePem = '', publicPem = ''] =
    keys.output().match(/-----BEGIN [A-Z ]+-----[\s\S]+?-----END [A-Z ]+-----\n/g) ?? [];
  assert.match(privatePem, /BEGIN PRIVATE KEY/);
  assert.match(publicPem, /BEGIN PUBLIC KEY/);
  const pair = { JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem };
  await serveInProcess(environment(await createDatabase(), pair));
});

test('keys --out writes a private and a public file with their modes, and prints their paths and the key id', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  after(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, 'new', 'pair');
  const files = { private: join(folder, 'private.pem'), public: join(folder, 'public.pem') };
  const keys = start(['keys', '--out', folder], {});
  assert.equal(await keys.gone(), 0, keys.output());
  const modes = [folder, files.private, files.public].map((path) => statSync(path).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o600, 0o644]);
  const publicKey = createPublicKey(readFileSync(files.public));
  const keyId = await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as JWK);
  for (const printed of [files.private, files.public, keyId])
    assert.ok(keys.stdout().includes(printed), keys.stdout());
  assert.doesNotMatch(keys.output(), /PRIVATE KEY-----/);

  const { JWT_PRIVATE_KEY, JWT_PUBLIC_KEY, ...rest } = environment(await createDatabase());
  const pair = { JWT_PRIVATE_KEY_FILE: files.private, JWT_PUBLIC_KEY_FILE: files.public };
  const { url } = await serveInProcess({ ...rest, ...pair });
  const jwks = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
  assert.deepEqual(
    jwks.keys.map(({ kid }) => kid),
    [keyId],
  );
});

for (const [kind, algorithm] of [
  ['rsa', 'RS256'],
  ['p-256', 'ES256'],
  ['ed25519', 'EdDSA'],
] as const)
  test(`keys --kind ${kind} makes a pair for ${algorithm}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
    after(() => rmSync(folder, { recursive: true }));
    const keys = start(['keys', '--kind', kind, '--out', folder], {});
    assert.equal(await keys.gone(), 0, keys.output());
    assert.match(keys.stdout(), new RegExp(`^algorithm \\(alg\\) +${algorithm}$`, 'm'));
    const { JWT_PRIVATE_KEY, JWT_PUBLIC_KEY, ...rest } = environment(await createDatabase());
    const pair = {
      JWT_PRIVATE_KEY_FILE: join(folder, 'private.pem'),
      JWT_PUBLIC_KEY_FILE: join(folder, 'public.pem'),
    };
    const { url } = await serveInProcess({ ...rest, ...pair });
    const jwks = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: { alg: string }[] };
    assert.deepEqual(
      jwks.keys.map(({ alg }) => alg),
      [algorithm],
    );
  });

test('keys --kind refuses any other kind, and names those that exist', async () => {
  const said = await refusalOf(start(['keys', '--kind', 'p-384'], {}));
  assert.match(said, /--kind must be one of rsa, p-256, ed25519, not "p-384"/);
});

test('keys --out refuses to overwrite either file, and writes neither', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  after(() => rmSync(folder, { recursive: true }));
  for (const name of ['private.pem', 'public.pem']) {
    writeFileSync(join(folder, name), 'kept');
    const said = await refusalOf(start(['keys', '--out', folder], {}));
    assert.ok(said.includes(`${join(folder, name)} already exists and is not overwritten`), said);
    assert.deepEqual([readdirSync(folder), readFileSync(join(folder, name), 'utf8')], [[name], 'kept']);
    rmSync(join(folder, name));
  }
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'private.pem'));
  await refusalOf(start(['keys', '--out', folder], {}));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  assert.match(await refusalOf(start(['keys', '--out', file], {})), /cannot write the keys/);
});

test('bootstrap creates an operator once; --force adds a second valid secret', async () => {
  const env = environment(await createDatabase());
  const { url } = await serveInProcess(env);
  const operator = await bootstrap(env);
  assert.deepEqual(Object.keys(operator).sort(), [
    'agentId',
    'baseUrl',
    'clientId',
    'clientSecret',
    'organizationId',
  ]);
  const issued = await askToken(url, operator);
  assert.equal(issued.status, 200);
  assert.deepEqual(((await issued.json()) as { scope: string }).scope.split(' ').sort(), [...scopes].sort());

  const said = await refusalOf(start(['bootstrap', '--json'], env));
  assert.match(said, /there is an operator already.*--force/);

  const forced = start(['bootstrap', '--json', '--force'], env);
  assert.equal(await forced.gone(), 0, forced.output());
  const again: typeof operator = JSON.parse(forced.stdout());
  assert.equal(again.clientId, operator.clientId);
  assert.notEqual(again.clientSecret, operator.clientSecret);
  for (const client of [operator, again]) assert.equal((await askToken(url, client)).status, 200);
});

test('bootstrap refuses keys that differ from those of the servers, names the right key id, and leaves the audit log unchanged', async () => {
  const databaseUrl = await createDatabase();
  const env = environment(databaseUrl);
  const { url } = await serveInProcess(env);
  const signingKeys = () => execute(databaseUrl, 'select number, key_id from audit_keys');
  const before = await signingKeys();
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
    keys: { kid: string }[];
  };
  const others = { ...env, ...pems('rsa') };
  for (const args of [['bootstrap'], ['bootstrap', '--force']]) {
    const said = await refusalOf(start(args, others));
    assert.ok(said.includes(`the audit log is signed with another key (kid ${keys[0]?.kid})`), said);
    assert.deepEqual(await signingKeys(), before);
  }
  assert.deepEqual(await execute(databaseUrl, 'select from agents'), []);
  await bootstrap(env);
});

test('bootstrap with other keys writes nothing into a database that is not up to date', async () => {
  const databaseUrl = await createDatabase();
  await execute(
    databaseUrl,
    'delete from schema_migrations where version = 18; alter table audit_progress drop written_in',
  );
  await refusalOf(start(['bootstrap'], { ...environment(databaseUrl), ...pems('rsa') }));
  assert.deepEqual(await execute(databaseUrl, 'select from schema_migrations where version = 18'), []);
});

test('worker runs the loops until SIGTERM, beside serve --no-worker', async () => {
  const env = environment(await createDatabase(), { LOG_LEVEL: 'info' });
  const workerPort = await freePort();
  const worker = startCountersign(['worker'], { ...env, WORKER_PORT: String(workerPort) });
  await until('the loops', async () => worker.output().includes('loops are running') || undefined, worker);
  const { program, port } = await startServe(env, ['--no-worker']);
  assert.match(program.output(), /"worker":false/);
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${workerPort}${path}`)).status;
  for (const path of ['/livez', '/readyz', '/health', '/metrics'])
    assert.equal(await statusOf(path), 200, path);
  for (const path of ['/api/v1/agents', '/docs', '/console', '/.well-known/jwks.json'])
    assert.equal(await statusOf(path), 404, path);
  // No hint at /docs, which a worker does not serve.
  const unknown = await (await fetch(`http://127.0.0.1:${workerPort}/docs`)).text();
  assert.equal(JSON.parse(unknown).message, 'There is nothing at this method and path.');
  const metrics = await (await fetch(`http://127.0.0.1:${workerPort}/metrics`)).text();
  assert.match(metrics, /^service_audit_chain_integrity 1$/m);
  for (const each of [worker, program]) each.kill('SIGTERM');
  assert.equal(await worker.gone(), 0, worker.output());
  assert.equal(await program.gone(), 0, program.output());
  await assert.rejects(fetch(`http://127.0.0.1:${port}/health`));
});
