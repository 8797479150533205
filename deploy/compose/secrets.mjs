/**
 * Creates the secrets of the Compose project, once. The service `secrets` runs it before the others start.
 *
 * Each service has a volume of its own below /secrets, so that it sees only its own secrets. A file that exists stays as it is: an
 * operator may put one there before the first start. Each file is made complete before it gets its name, so a run that was killed
 * can be repeated. Values that belong together are derived from the file that was made first.
 */
import { createHash, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [secrets = '/secrets', volumes = '/volumes'] = process.argv.slice(2);

/** The user of each service. Its secrets are readable by this user alone. */
const users = { app: 10_001, postgres: 999, redis: 999, kafka: 1_000, prometheus: 65_534, grafana: 472 };

/** Volumes that a service without root rights writes to, and that its image does not own. */
const owners = { proxy: 10_002 };

const random = () => randomBytes(32).toString('hex');

/** The content of a secret; `make` is called when there is none. */
function ensure(service, name, make) {
  const path = join(secrets, service, name);
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const content = make();
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${content}\n`, { mode: 0o400, flag: 'wx' });
  chownSync(draft, users[service], users[service]);
  renameSync(draft, path);
  console.log(`created ${service}/${name}`);
  return content;
}

const privateKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2_048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .trim();
const publicKeyOf = (pem) => createPublicKey(pem).export({ type: 'spki', format: 'pem' }).trim();

const passwords = {
  database: () => ensure('postgres', 'database-password', random),
  redis: () => ensure('redis', 'redis-password', random),
  kafka: () => ensure('kafka', 'kafka-sasl-password', random),
  metrics: () => ensure('app', 'metrics-token', random),
};

const files = {
  postgres() {
    ensure('postgres', 'postgres-password', random);
    passwords.database();
  },
  redis() {
    const hash = createHash('sha256').update(passwords.redis()).digest('hex');
    ensure(
      'redis',
      'redis-users.acl',
      () => `user default off\nuser countersign on #${hash} ~* &* +@all -@admin`,
    );
  },
  app() {
    ensure(
      'app',
      'database-url',
      () => `postgres://countersign:${passwords.database()}@postgres:5432/countersign`,
    );
    ensure('app', 'redis-url', () => `redis://countersign:${passwords.redis()}@redis:6379`);
    const pem = ensure('app', 'jwt-private-key', privateKey);
    ensure('app', 'jwt-public-key', () => publicKeyOf(pem));
    ensure('app', 'data-encryption-key', () => randomBytes(32).toString('base64'));
    passwords.metrics();
  },
  kafka() {
    const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
    ensure('kafka', 'kafka-jaas', () => `${login} user_countersign="${passwords.kafka()}";`);
    ensure('app', 'kafka-sasl-password', passwords.kafka);
  },
  prometheus: () => ensure('prometheus', 'metrics-token', passwords.metrics),
  grafana: () => ensure('grafana', 'grafana-password', random),
};

const mounted = readdirSync(secrets);
// The overlays add services.
for (const [service, make] of Object.entries(files)) if (mounted.includes(service)) make();
if (existsSync(volumes))
  for (const name of readdirSync(volumes)) chownSync(join(volumes, name), owners[name], owners[name]);
