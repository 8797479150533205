/** Every environment variable: what it is for, how it is read, and what its absence means. */
import { limits } from '../../contract/limits.ts';
import { parsePrivateKey, parsePublicKey, parsePublicKeys } from './keypair.ts';
import {
  addresses,
  asciiWord,
  certificates,
  encryptionKey,
  flag,
  integer,
  natsUrls,
  networks,
  oneOf,
  origin,
  origins,
  policyFolder,
  saslMechanism,
  text,
  topicPrefix,
  trimmed,
  urlWith,
} from './variable-kinds.ts';

export interface Variable<T> {
  readonly env: string;
  readonly group: string;
  readonly description: string;
  /** What absence means, for the docs. */
  readonly whenAbsent: string;
  readonly parse: (text: string) => T;
  readonly fallback: T | undefined;
  readonly required: boolean;
  /** May also be given as a path in `<env>_FILE`. */
  readonly orFile: boolean;
}

type Described = Pick<Variable<unknown>, 'env' | 'description'> & { orFile?: true };
type Required<T> = Variable<T> & { readonly required: true };
type Defaulted<T> = Variable<T> & { readonly fallback: T };

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
});

const required = <T>(parse: (text: string) => T, described: Described): Required<T> => ({
  ...common(described),
  whenAbsent: 'refuses to start',
  parse,
  fallback: undefined,
  required: true,
});

const optional = <T>(parse: (text: string) => T, whenAbsent: string, described: Described): Variable<T> => ({
  ...common(described),
  whenAbsent,
  parse,
  fallback: undefined,
  required: false,
});

const defaulted = <T extends string | number | boolean>(
  parse: (text: string) => T,
  fallback: T,
  described: Described,
): Defaulted<T> => ({
  ...common(described),
  whenAbsent: `\`${fallback}\``,
  parse,
  fallback,
  required: false,
});

export const variables = {
  ...section('Required'),
  databaseUrl: required(urlWith('postgres:', 'postgresql:'), {
    env: 'DATABASE_URL',
    description: 'the PostgreSQL database, as postgres://user:password@host:5432/name',
  }),
  redisUrl: required(urlWith('redis:', 'rediss:', 'memory:'), {
    env: 'REDIS_URL',
    description:
      'the Redis server, as redis://host:6379 (rediss:// with TLS), or memory:// for a single process without Redis',
  }),
  jwtPrivateKey: required(parsePrivateKey, {
    env: 'JWT_PRIVATE_KEY',
    orFile: true,
    description:
      'the RSA private key that signs tokens, as PEM text; at least 2048 bits (countersign keys makes a pair)',
  }),
  jwtPublicKey: required(parsePublicKey, {
    env: 'JWT_PUBLIC_KEY',
    orFile: true,
    description: 'the public half of JWT_PRIVATE_KEY, as PEM text',
  }),

  ...section('Serving'),
  port: defaulted(integer(1, 65_535), 3000, { env: 'PORT', description: 'the port to listen on' }),
  host: defaulted(text, '0.0.0.0', {
    env: 'HOST',
    description:
      'the address to listen on; `countersign dev` listens on 127.0.0.1 unless this says otherwise',
  }),
  baseUrl: optional(origin, '`http://localhost:PORT`; with NODE_ENV=production: refuses to start', {
    env: 'BASE_URL',
    description:
      'the public address (scheme, host, port): token issuer and audience, DID host, links. The Host header never decides any of these',
  }),
  nodeEnv: defaulted(text, 'development', {
    env: 'NODE_ENV',
    description: '`production` in production, spelt like this; any other word means that it is not',
  }),
  webConcurrency: defaulted(integer(1, 64), 1, {
    env: 'WEB_CONCURRENCY',
    description:
      'number of serving processes; more than one needs a real Redis. /metrics answers for all of them',
  }),
  trustProxy: optional(networks, 'X-Forwarded-* headers are ignored', {
    env: 'TRUST_PROXY',
    description:
      'comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is believed; not everybody (`/0`)',
  }),
  corsOrigin: optional(origins, 'no cross-origin access', {
    env: 'CORS_ORIGIN',
    description: 'comma-separated origins that browsers may call from, or `*`',
  }),
  rateLimitPerMinute: defaulted(integer(1, 1_000_000_000), limits.requestsPerMinute, {
    env: 'RATE_LIMIT_PER_MINUTE',
    description:
      'requests per client (per IP address, of IPv6 per /64 network, while nobody is authenticated) in each 60-second window',
  }),
  multiTenant: defaulted(flag, false, {
    env: 'MULTI_TENANT',
    description:
      'whether this instance serves many organizations; `organization_id` is then required when an agent is created, `client_id` when an outside token is exchanged, and plans are never free without BILLING_ALLOW_EMBEDDED=true',
  }),

  policiesDir: optional(policyFolder, 'the policies that come with Countersign', {
    env: 'POLICIES_DIR',
    description:
      'a folder of Cedar policies (`*.cedar`) that replace those of `policies/`; checked against `policies/schema.cedarschema` at start',
  }),

  ...section('Storage'),
  databasePoolSize: defaulted(integer(1, 500), 10, {
    env: 'DATABASE_POOL_SIZE',
    description:
      'database connections per process for requests and loops; one more is kept to hear of webhook deliveries, and one more for each stream and one beside them where streams are configured',
  }),
  dataEncryptionKey: optional(
    encryptionKey,
    'webhook signing secrets are stored unencrypted, with a warning',
    {
      env: 'DATA_ENCRYPTION_KEY',
      description: '32 bytes in base64 (`openssl rand -base64 32`); encrypts webhook signing secrets at rest',
    },
  ),

  ...section('Keys and observation'),
  jwtPreviousPublicKeys: optional(parsePublicKeys, 'tokens signed with any other key are refused', {
    env: 'JWT_PREVIOUS_PUBLIC_KEYS',
    orFile: true,
    description:
      'every further public key, earlier or later (PEM blocks one after the other): tokens that they signed are valid, and they are published in jwks.json. A rotation without downtime needs it on all nodes: docs/guides/rotate-credentials-and-keys.md',
  }),
  metricsToken: optional(asciiWord, '/metrics is open to whoever can reach it', {
    env: 'METRICS_TOKEN',
    description: 'when set, /metrics wants it as a Bearer token; one word of printable ASCII',
  }),
  logLevel: defaulted(oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', {
    env: 'LOG_LEVEL',
    description: '`trace`, `debug` (one line per request), `info`, `warn`, `error`, `fatal` or `silent`',
  }),

  ...section('Webhooks and streams'),
  webhooksEnabled: defaulted(flag, true, {
    env: 'WEBHOOKS_ENABLED',
    description:
      'whether webhook deliveries are made; false: subscriptions can be managed, and events are neither kept for them nor sent',
  }),
  webhookDeliveryTimeoutMs: defaulted(integer(100, 120_000), limits.webhookTimeoutMs, {
    env: 'WEBHOOK_DELIVERY_TIMEOUT_MS',
    description: 'how long a receiver may take to answer, in milliseconds',
  }),
  webhookMaxRetries: defaulted(integer(1, limits.webhookAttempts), limits.webhookAttempts, {
    env: 'WEBHOOK_MAX_RETRIES',
    description: 'attempts per delivery, the first included',
  }),
  webhookWorkerConcurrency: defaulted(integer(1, 1_000), 5, {
    env: 'WEBHOOK_WORKER_CONCURRENCY',
    description: 'deliveries under way at once to one subscription, in each process',
  }),
  webhookAllowPrivateTargets: defaulted(flag, false, {
    env: 'WEBHOOK_ALLOW_PRIVATE_TARGETS',
    description:
      "lets every outbound call (webhooks, key sets, discovery) reach private and loopback addresses: for receivers and issuers inside the operator's own network, and for tests; issuers and their key sets may then also be plain http, webhooks never",
  }),
  kafkaBrokers: optional(addresses, 'no Kafka publishing', {
    env: 'KAFKA_BROKERS',
    description:
      'comma-separated host:port of Kafka brokers to publish events to; the same for every process',
  }),
  kafkaTopicPrefix: defaulted(topicPrefix, 'countersign', {
    env: 'KAFKA_TOPIC_PREFIX',
    description: 'first part of topic names and NATS subjects',
  }),
  kafkaSsl: defaulted(flag, false, {
    env: 'KAFKA_SSL',
    description: 'whether to speak TLS with the brokers',
  }),
  kafkaSslCa: optional(certificates, 'the certificate authorities that Node knows', {
    env: 'KAFKA_SSL_CA',
    orFile: true,
    description: "the authority that signed the brokers' certificates, as PEM text; for KAFKA_SSL=true",
  }),
  kafkaSaslMechanism: optional(saslMechanism, 'no authentication', {
    env: 'KAFKA_SASL_MECHANISM',
    description: '`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; with the next two',
  }),
  kafkaSaslUsername: optional(text, 'see KAFKA_SASL_MECHANISM', {
    env: 'KAFKA_SASL_USERNAME',
    description: 'the user name for KAFKA_SASL_MECHANISM',
  }),
  kafkaSaslPassword: optional(trimmed, 'see KAFKA_SASL_MECHANISM', {
    env: 'KAFKA_SASL_PASSWORD',
    orFile: true,
    description: 'the password for KAFKA_SASL_MECHANISM',
  }),
  natsUrl: optional(natsUrls, 'no NATS publishing', {
    env: 'NATS_URL',
    description:
      'the NATS server to publish events to, as nats://host:4222 (tls:// with TLS), with `user:password@` or `token@` before the host if it wants that; several of one cluster with commas between. The same for every process',
  }),
  natsCa: optional(certificates, 'the certificate authorities that Node knows', {
    env: 'NATS_CA',
    orFile: true,
    description: "the authority that signed the server's certificate, as PEM text",
  }),

  ...section('Features'),
  analyticsEnabled: defaulted(flag, true, {
    env: 'ANALYTICS_ENABLED',
    description: 'false makes the analytics endpoints answer 404',
  }),
  complianceEnabled: defaulted(flag, true, {
    env: 'COMPLIANCE_ENABLED',
    description: 'false makes the compliance report and agent-card export answer 404',
  }),

  ...section('Billing'),
  stripeSecretKey: optional(asciiWord, 'the embedded billing provider is used, where it is allowed', {
    env: 'STRIPE_SECRET_KEY',
    orFile: true,
    description:
      "Stripe's secret key; together with the next three (all or none), plans are paid for through Stripe",
  }),
  stripeWebhookSecret: optional(asciiWord, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_WEBHOOK_SECRET',
    orFile: true,
    description:
      "the signing secret of Stripe's webhook endpoint, which sends `customer.subscription.*` to `/api/v1/billing/webhooks/stripe`",
  }),
  stripePricePro: optional(asciiWord, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_PRICE_PRO',
    description: 'price id of the pro plan',
  }),
  stripePriceEnterprise: optional(asciiWord, 'see STRIPE_SECRET_KEY', {
    env: 'STRIPE_PRICE_ENTERPRISE',
    description: 'price id of the enterprise plan',
  }),
  stripeApiUrl: optional(origin, "Stripe's own", {
    env: 'STRIPE_API_URL',
    description: "where Stripe's API is (scheme, host, port), for a proxy or for tests with stripe-mock",
  }),
  billingAllowEmbedded: defaulted(flag, false, {
    env: 'BILLING_ALLOW_EMBEDDED',
    description:
      'allows the embedded billing provider, which takes no money, with NODE_ENV=production or MULTI_TENANT=true; otherwise nothing can be ordered there without Stripe',
  }),
} as const;
