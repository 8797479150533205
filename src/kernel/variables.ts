/** Every environment variable: what it is for, how it is read, and what its absence means. */
import { isIP } from 'node:net';
import { limits } from '../contract/limits.ts';
import { parsePrivateKey, parsePublicKey, parsePublicKeys } from './keypair.ts';

export interface Variable<T> {
  readonly env: string;
  readonly group: string;
  readonly about: string;
  /** What absence means, for the docs. */
  readonly absent: string;
  readonly parse: (text: string) => T;
  readonly otherwise: T | undefined;
  readonly required: boolean;
  /** May also be given as a path in `<env>_FILE`. */
  readonly orFile: boolean;
  /** Checked at start already, but the feature that acts on it is not in this version. */
  readonly awaitsFeature: boolean;
}

type Described = Pick<Variable<unknown>, 'env' | 'about'> & { orFile?: true; awaitsFeature?: true };
type Required<T> = Variable<T> & { readonly required: true };
type Defaulted<T> = Variable<T> & { readonly otherwise: T };

export type ValueOf<V> = V extends Required<infer T> | Defaulted<infer T>
  ? T
  : V extends Variable<infer T>
    ? T | undefined
    : never;

let group = '';
/** Starts a section of the table. */
const section = (name: string) => {
  group = name;
  return {};
};

const common = (described: Described) => ({
  ...described,
  group,
  orFile: described.orFile ?? false,
  awaitsFeature: described.awaitsFeature ?? false,
});

const required = <T>(parse: (text: string) => T, described: Described): Required<T> => ({
  ...common(described),
  absent: 'refuses to start',
  parse,
  otherwise: undefined,
  required: true,
});

const optional = <T>(parse: (text: string) => T, absent: string, described: Described): Variable<T> => ({
  ...common(described),
  absent,
  parse,
  otherwise: undefined,
  required: false,
});

const defaulted = <T extends string | number | boolean>(
  parse: (text: string) => T,
  otherwise: T,
  described: Described,
): Defaulted<T> => ({ ...common(described), absent: `\`${otherwise}\``, parse, otherwise, required: false });

const text = (value: string) => value;

function flag(value: string): boolean {
  const word = value.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  if (['false', '0', 'no', 'off'].includes(word)) return false;
  throw new Error(`must be true or false, not "${value}"`);
}

const whole =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}, not "${value}"`);
    }
    return number;
  };

const urlWith =
  (...protocols: string[]) =>
  (value: string): string => {
    // The value may hold a password, so the complaint does not repeat it.
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value;
  };

function origin(value: string): string {
  const url = urlWith('http:', 'https:')(value);
  const { pathname, search, hash, origin } = new URL(url);
  if (pathname !== '/' || search || hash)
    throw new Error(`must be scheme, host and port only, not "${value}"`);
  return origin;
}

const list = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

function networks(value: string): string[] {
  return list(value).map((item) => {
    const [address = '', bits, ...rest] = item.split('/');
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    if (family === 0 || !fits || rest.length > 0)
      throw new Error(`must list addresses or CIDR ranges; "${item}" is neither`);
    return item;
  });
}

function origins(value: string): '*' | string[] {
  return value === '*' ? '*' : list(value).map(origin);
}

function oneOf<const W extends readonly string[]>(...words: W) {
  return (value: string): W[number] => {
    if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}, not "${value}"`);
    return value;
  };
}

function encryptionKey(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length !== 32) throw new Error(`must be 32 bytes in base64, not ${bytes.length}`);
  return bytes;
}

export const variables = {
  ...section('Required'),
  databaseUrl: required(urlWith('postgres:', 'postgresql:'), {
    env: 'DATABASE_URL',
    about: 'the PostgreSQL database, as postgres://user:password@host:5432/name',
  }),
  redisUrl: required(urlWith('redis:', 'rediss:', 'memory:'), {
    env: 'REDIS_URL',
    about:
      'the Redis server, as redis://host:6379 (rediss:// with TLS), or memory:// for a single process without Redis',
  }),
  jwtPrivateKey: required(parsePrivateKey, {
    env: 'JWT_PRIVATE_KEY',
    orFile: true,
    about:
      'the RSA private key that signs tokens, as PEM text; at least 2048 bits (countersign keys makes a pair)',
  }),
  jwtPublicKey: required(parsePublicKey, {
    env: 'JWT_PUBLIC_KEY',
    orFile: true,
    about: 'the public half of JWT_PRIVATE_KEY, as PEM text',
  }),

  ...section('Serving'),
  port: defaulted(whole(1, 65_535), 3000, { env: 'PORT', about: 'the port to listen on' }),
  host: defaulted(text, '0.0.0.0', {
    env: 'HOST',
    about: 'the address to listen on; `countersign dev` listens on 127.0.0.1 unless this says otherwise',
  }),
  baseUrl: optional(origin, '`http://localhost:PORT`', {
    env: 'BASE_URL',
    about:
      'the public address (scheme, host, port): token issuer and audience, DID host, links. The Host header never decides any of these',
  }),
  nodeEnv: defaulted(text, 'development', { env: 'NODE_ENV', about: '`production` in production' }),
  webConcurrency: defaulted(whole(1, 64), 1, {
    env: 'WEB_CONCURRENCY',
    about: 'number of serving processes; more than one needs a real Redis. /metrics answers for all of them',
  }),
  trustProxy: optional(networks, 'X-Forwarded-* headers are ignored', {
    env: 'TRUST_PROXY',
    about: 'comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is believed',
  }),
  corsOrigin: optional(origins, 'no cross-origin access', {
    env: 'CORS_ORIGIN',
    about: 'comma-separated origins that browsers may call from, or `*`',
  }),
  rateLimitPerMinute: defaulted(whole(1, 1_000_000_000), limits.requestsPerMinute, {
    env: 'RATE_LIMIT_PER_MINUTE',
    about: 'requests per client (per IP address while nobody is authenticated) in each 60-second window',
  }),
  multiTenant: defaulted(flag, false, {
    env: 'MULTI_TENANT',
    about:
      'whether this instance serves many organizations; `organization_id` is then required when an agent is created',
  }),

  policiesDir: optional(text, 'the policies that come with Countersign', {
    env: 'POLICIES_DIR',
    about:
      'a folder of Cedar policies (`*.cedar`) that replace those of `policies/`; checked against `policies/schema.cedarschema` at start',
  }),

  ...section('Storage'),
  databasePoolSize: defaulted(whole(1, 500), 10, {
    env: 'DATABASE_POOL_SIZE',
    about: 'database connections per process',
  }),
  dataEncryptionKey: optional(
    encryptionKey,
    'webhook signing secrets are stored unencrypted, with a warning',
    {
      env: 'DATA_ENCRYPTION_KEY',
      about: '32 bytes in base64; encrypts webhook signing secrets at rest',
    },
  ),

  ...section('Keys and observation'),
  jwtPreviousPublicKeys: optional(parsePublicKeys, 'tokens signed with an earlier key are refused', {
    env: 'JWT_PREVIOUS_PUBLIC_KEYS',
    orFile: true,
    about:
      'earlier public keys (PEM blocks one after the other) whose tokens stay valid until they expire, after a key change',
  }),
  metricsToken: optional(text, '/metrics is open to whoever can reach it', {
    env: 'METRICS_TOKEN',
    about: 'when set, /metrics wants it as a Bearer token',
  }),
  logLevel: defaulted(oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', {
    env: 'LOG_LEVEL',
    about: '`trace`, `debug` (one line per request), `info`, `warn`, `error`, `fatal` or `silent`',
  }),

  ...section('Webhooks and streams'),
  webhooksEnabled: defaulted(flag, true, {
    env: 'WEBHOOKS_ENABLED',
    about:
      'whether webhook deliveries are made; false: subscriptions can be managed, and events are neither kept for them nor sent',
  }),
  webhookDeliveryTimeoutMs: defaulted(whole(100, 120_000), limits.webhookTimeoutMs, {
    env: 'WEBHOOK_DELIVERY_TIMEOUT_MS',
    about: 'how long a receiver may take to answer, in milliseconds',
  }),
  webhookMaxRetries: defaulted(whole(1, limits.webhookAttempts), limits.webhookAttempts, {
    env: 'WEBHOOK_MAX_RETRIES',
    about: 'attempts per delivery, the first included',
  }),
  webhookWorkerConcurrency: defaulted(whole(1, 1_000), 5, {
    env: 'WEBHOOK_WORKER_CONCURRENCY',
    about: 'deliveries under way at once to one subscription, in each process',
  }),
  webhookAllowPrivateTargets: defaulted(flag, false, {
    env: 'WEBHOOK_ALLOW_PRIVATE_TARGETS',
    about:
      "lets every outbound call (webhooks, key sets, discovery) reach private and loopback addresses: for receivers and issuers inside the operator's own network, and for tests",
  }),
  kafkaBrokers: optional(list, 'no Kafka publishing', {
    env: 'KAFKA_BROKERS',
    awaitsFeature: true,
    about: 'comma-separated host:port of Kafka brokers to publish events to',
  }),
  kafkaTopicPrefix: defaulted(text, 'countersign', {
    env: 'KAFKA_TOPIC_PREFIX',
    awaitsFeature: true,
    about: 'first part of topic names and NATS subjects',
  }),
  natsUrl: optional(text, 'no NATS publishing', {
    env: 'NATS_URL',
    awaitsFeature: true,
    about: 'the NATS server to publish events to',
  }),

  ...section('Features'),
  analyticsEnabled: defaulted(flag, true, {
    env: 'ANALYTICS_ENABLED',
    awaitsFeature: true,
    about: 'false makes the analytics endpoints answer 404',
  }),
  complianceEnabled: defaulted(flag, true, {
    env: 'COMPLIANCE_ENABLED',
    awaitsFeature: true,
    about: 'false makes the compliance report and agent-card export answer 404',
  }),

  ...section('Billing'),
  stripeSecretKey: optional(text, 'the embedded billing provider is used', {
    env: 'STRIPE_SECRET_KEY',
    awaitsFeature: true,
    about: "Stripe's secret key; with the next three, plans are paid for through Stripe",
  }),
  stripeWebhookSecret: optional(text, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_WEBHOOK_SECRET',
    awaitsFeature: true,
    about: "the signing secret of Stripe's webhook endpoint",
  }),
  stripePricePro: optional(text, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_PRICE_PRO',
    awaitsFeature: true,
    about: 'price id of the pro plan',
  }),
  stripePriceEnterprise: optional(text, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_PRICE_ENTERPRISE',
    awaitsFeature: true,
    about: 'price id of the enterprise plan',
  }),
  billingAllowEmbedded: defaulted(flag, false, {
    env: 'BILLING_ALLOW_EMBEDDED',
    awaitsFeature: true,
    about: 'allows the embedded billing provider with NODE_ENV=production',
  }),
} as const;
