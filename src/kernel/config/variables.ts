/** Every environment variable: description, parser and default. One table, long as it is: a reader looks here for any of them, and documents are made from it. */
import { limits } from '../../contract/limits.ts';
import { organizationScopes } from '../../contract/scopes.ts';
import { archiveEndpoint, archiveRegion, archiveUrl } from './archive.ts';
import { parseLogKey, parsePrivateKey, parsePublicKey, parsePublicKeys } from './keypair.ts';
import { databaseUrl, redisUrl, smtpUrl } from './server-urls.ts';
import {
  addresses,
  asciiWord,
  certificates,
  defaultScopes,
  encryptionKey,
  encryptionKeys,
  flag,
  integer,
  mailSender,
  natsUrls,
  networks,
  oneOf,
  origin,
  origins,
  policyFolder,
  providerAddress,
  providerName,
  saslMechanism,
  share,
  text,
  topicPrefix,
  trimmed,
} from './variable-kinds.ts';
import { witnessFile } from './witness-file.ts';

export interface Variable<T> {
  readonly env: string;
  readonly group: string;
  readonly description: string;
  /** The behaviour without the variable, for the docs. */
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
  databaseUrl: required(databaseUrl, {
    env: 'DATABASE_URL',
    orFile: true,
    description:
      'the PostgreSQL database, as postgres://user:password@host:5432/name. Several hosts with commas between, as host1:5432,host2:5432: the one that accepts writes is used (docs/operations/high-availability.md)',
  }),
  redisUrl: required(redisUrl, {
    env: 'REDIS_URL',
    orFile: true,
    description:
      'the Redis server, as redis://host:6379 (rediss:// with TLS), or memory:// for a single process without Redis. With Sentinel: redis+sentinel://user:password@host:26379,host:26379/name/0. A Redis Cluster: redis+cluster://user:password@host:6379,host:6379. Both with rediss+ for TLS',
  }),
  jwtPrivateKey: required(parsePrivateKey, {
    env: 'JWT_PRIVATE_KEY',
    orFile: true,
    description:
      'the private key that signs tokens, as PEM text. Its kind decides the algorithm: RSA of at least 2048 bits (RS256), EC on P-256 (ES256) or Ed25519 (EdDSA). `countersign keys` makes a pair',
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
    description: 'the address to listen on; `countersign dev` listens on 127.0.0.1 unless this is set',
  }),
  baseUrl: optional(origin, '`http://localhost:PORT`; with NODE_ENV=production: refuses to start', {
    env: 'BASE_URL',
    description:
      'the public URL (scheme, host, port): token issuer and audience, DID host, links. The Host header is never used for these',
  }),
  nodeEnv: defaulted(text, 'development', {
    env: 'NODE_ENV',
    description: 'exactly `production` in production; any other value means development',
  }),
  workerPort: defaulted(integer(0, 65_535), 3001, {
    env: 'WORKER_PORT',
    description:
      'the port of `countersign worker` for /livez, /readyz, /health and /metrics, on the address of HOST; 0 opens none',
  }),
  shutdownDelaySeconds: defaulted(integer(0, 300), 0, {
    env: 'SHUTDOWN_DELAY_SECONDS',
    description:
      'after a signal to stop, how long the server goes on serving while /readyz answers 503, so that load balancers notice',
  }),
  webConcurrency: defaulted(integer(1, 64), 1, {
    env: 'WEB_CONCURRENCY',
    description:
      'number of server processes; more than one needs a real Redis. /metrics shows the sum of all of them',
  }),
  trustProxy: optional(networks, 'X-Forwarded-* headers are ignored', {
    env: 'TRUST_PROXY',
    description:
      'comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted; `/0` is refused',
  }),
  corsOrigin: optional(origins, 'no cross-origin access', {
    env: 'CORS_ORIGIN',
    description: 'comma-separated origins that browsers may call the API from, or `*`',
  }),
  rateLimitPerMinute: defaulted(integer(1, 1_000_000_000), limits.requestsPerMinute, {
    env: 'RATE_LIMIT_PER_MINUTE',
    description:
      'requests per client in each 60-second window; unauthenticated requests count per IP address (IPv6: per /64 network)',
  }),
  multiTenant: defaulted(flag, false, {
    env: 'MULTI_TENANT',
    description:
      'whether this instance serves many organizations. `organization_id` is then required to create an agent, `client_id` to exchange an external token, and plans can be ordered without payment only with BILLING_ALLOW_EMBEDDED=true',
  }),

  defaultAgentScopes: optional(defaultScopes, `\`${organizationScopes.join(' ')}\``, {
    env: 'DEFAULT_AGENT_SCOPES',
    description:
      "the scopes of this service's own API that a new agent gets when the request names no `allowedScopes`, as far as the creator's token holds them: names with spaces or commas between, or `none`. The console, the command line and the SDKs always send `allowedScopes`",
  }),
  unregisteredResources: optional(
    oneOf('allow', 'refuse'),
    '`allow`; with MULTI_TENANT=true or RESOURCE_IDENTIFIERS=verified: `refuse`',
    {
      env: 'UNREGISTERED_RESOURCES',
      description:
        "whether agents get tokens for an audience (`resource`) that is no registered API: `allow`, with the scopes of this service's own API, or `refuse`",
    },
  ),
  resourceIdentifiers: optional(oneOf('open', 'verified'), '`open`; with MULTI_TENANT=true: `verified`', {
    env: 'RESOURCE_IDENTIFIERS',
    description:
      'whether an organization must prove that it controls the host of an API: `open`, any organization can register any identifier, or `verified`, no token is issued for an API before its proof. APIs that exist stay verified',
  }),
  dpopRequireNonce: defaulted(flag, false, {
    env: 'DPOP_REQUIRE_NONCE',
    description:
      'whether a DPoP proof must have a nonce of this server. A client without one gets it by the header DPoP-Nonce, and repeats its request',
  }),
  policiesDir: optional(policyFolder, 'the built-in policies', {
    env: 'POLICIES_DIR',
    description:
      'a folder of Cedar policies (`*.cedar`) that replace the ones in `policies/`; validated against `policies/schema.cedarschema` at start',
  }),

  ...section('Storage'),
  databasePoolSize: defaulted(integer(1, 500), 10, {
    env: 'DATABASE_POOL_SIZE',
    description:
      'database connections per process for requests and background loops. One more listens for webhook deliveries, and one more checks the health; with streams, one more per stream and one more for all of them',
  }),
  databasePooler: defaulted(oneOf('none', 'transaction'), 'none', {
    env: 'DATABASE_POOLER',
    description:
      '`transaction` when DATABASE_URL leads to PgBouncer, or a similar pooler, in transaction mode. Only settings that such a pooler accepts are then sent',
  }),
  databasePreparedStatements: optional(flag, '`true`; with DATABASE_POOLER=transaction: `false`', {
    env: 'DATABASE_PREPARED_STATEMENTS',
    description:
      'whether frequent queries are prepared once per connection. Through a pooler in transaction mode only if it supports that: PgBouncer from 1.21, with max_prepared_statements above 0',
  }),
  databaseDirectUrl: optional(
    databaseUrl,
    'DATABASE_URL; through a pooler, webhooks are then found by polling',
    {
      env: 'DATABASE_DIRECT_URL',
      orFile: true,
      description:
        'the same database without the pooler, for migrations, `countersign audit` and notifications of webhook deliveries',
    },
  ),
  dataEncryptionKey: optional(
    encryptionKey,
    'webhook signing secrets and client secrets of connections are stored unencrypted, with a warning',
    {
      env: 'DATA_ENCRYPTION_KEY',
      orFile: true,
      description:
        '32 bytes in base64 (`openssl rand -base64 32`); encrypts webhook signing secrets, client secrets of connections, and stored answers to requests with an Idempotency-Key, in the database',
    },
  ),
  dataEncryptionPreviousKeys: optional(encryptionKeys, 'only DATA_ENCRYPTION_KEY decrypts', {
    env: 'DATA_ENCRYPTION_PREVIOUS_KEYS',
    orFile: true,
    description:
      'further keys that decrypt, earlier or later ones, each as 32 bytes in base64, with spaces, commas or new lines between. `countersign rotate-encryption-key` replaces them: docs/guides/rotate-credentials-and-keys.md',
  }),

  ...section('Keys and observation'),
  jwtPreviousPublicKeys: optional(parsePublicKeys, 'tokens signed with any other key are refused', {
    env: 'JWT_PREVIOUS_PUBLIC_KEYS',
    orFile: true,
    description:
      'further public keys, earlier or later ones, of any allowed kind, as concatenated PEM blocks: their tokens are accepted, and they are published in jwks.json. A rotation without downtime needs it on all nodes: docs/guides/rotate-credentials-and-keys.md',
  }),
  metricsToken: optional(asciiWord, '/metrics needs no authentication', {
    env: 'METRICS_TOKEN',
    orFile: true,
    description: 'the Bearer token that /metrics then requires; printable ASCII without spaces',
  }),
  logLevel: defaulted(oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', {
    env: 'LOG_LEVEL',
    description: '`trace`, `debug` (one line per request), `info`, `warn`, `error`, `fatal` or `silent`',
  }),
  logRequests: defaulted(oneOf('none', 'failures', 'all'), 'none', {
    env: 'LOG_REQUESTS',
    description:
      'which requests are logged, one line each at level info: `none`, `failures` (status 400 and above) or `all`',
  }),
  logRequestsShare: defaulted(share, 1, {
    env: 'LOG_REQUESTS_SHARE',
    description:
      'with LOG_REQUESTS=all, the share of requests below status 500 that are logged, from 0 to 1; those with 500 and above are all logged',
  }),

  ...section('Webhooks and streams'),
  webhooksEnabled: defaulted(flag, true, {
    env: 'WEBHOOKS_ENABLED',
    description:
      'whether webhooks are delivered. With false, subscriptions can be managed, but events are neither stored for them nor sent',
  }),
  webhookDeliveryTimeoutMs: defaulted(integer(100, 120_000), limits.webhookTimeoutMs, {
    env: 'WEBHOOK_DELIVERY_TIMEOUT_MS',
    description: 'timeout for the response of a receiver, in milliseconds',
  }),
  webhookMaxRetries: defaulted(integer(1, limits.webhookAttempts), limits.webhookAttempts, {
    env: 'WEBHOOK_MAX_RETRIES',
    description: 'attempts per delivery, the first included',
  }),
  webhookWorkerConcurrency: defaulted(integer(1, 1_000), 5, {
    env: 'WEBHOOK_WORKER_CONCURRENCY',
    description: 'concurrent deliveries to one subscription, per process',
  }),
  webhookSecretOverlapSeconds: defaulted(
    integer(0, limits.webhookSecretOverlapSeconds.max),
    limits.webhookSecretOverlapSeconds.default,
    {
      env: 'WEBHOOK_SECRET_OVERLAP_SECONDS',
      description:
        'after the rotation of a webhook signing secret, how long the replaced one signs deliveries too; 0 ends it at once. A rotation can choose its own `overlapSeconds`',
    },
  ),
  webhookAllowPrivateTargets: defaulted(flag, false, {
    env: 'WEBHOOK_ALLOW_PRIVATE_TARGETS',
    description:
      "allows outbound calls (webhooks, key sets, discovery) to private and loopback addresses: for receivers and issuers in the operator's own network, and for tests. Issuers and their key sets may then also use http; webhooks always need https",
  }),
  kafkaBrokers: optional(addresses, 'no Kafka publishing', {
    env: 'KAFKA_BROKERS',
    description:
      'comma-separated host:port of the Kafka brokers that events are published to; equal for all processes',
  }),
  kafkaTopicPrefix: defaulted(topicPrefix, 'countersign', {
    env: 'KAFKA_TOPIC_PREFIX',
    description: 'prefix of topic names and NATS subjects',
  }),
  kafkaSsl: defaulted(flag, false, {
    env: 'KAFKA_SSL',
    description: 'whether to use TLS with the brokers',
  }),
  kafkaSslCa: optional(certificates, "Node's built-in certificate authorities", {
    env: 'KAFKA_SSL_CA',
    orFile: true,
    description: "the certificate authority of the brokers' certificates, as PEM text; for KAFKA_SSL=true",
  }),
  kafkaSaslMechanism: optional(saslMechanism, 'no authentication', {
    env: 'KAFKA_SASL_MECHANISM',
    description: '`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; needs user name and password',
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
    orFile: true,
    description:
      'the NATS server that events are published to, as nats://host:4222 (tls:// with TLS), with `user:password@` or `token@` before the host if needed; several servers of one cluster separated by commas. Equal for all processes',
  }),
  natsCa: optional(certificates, "Node's built-in certificate authorities", {
    env: 'NATS_CA',
    orFile: true,
    description: "the certificate authority of the server's certificate, as PEM text",
  }),

  ...section('Instance log'),
  auditLogKey: optional(parseLogKey, 'no instance log; `countersign dev` makes a key', {
    env: 'AUDIT_LOG_KEY',
    orFile: true,
    description:
      'the private key of the instance log, as PEM text (Ed25519, PKCS#8): it signs the checkpoints at /log/checkpoint, and nothing else. `countersign keys --kind ed25519` makes one. Equal for all processes; another key begins another log',
  }),

  auditWitnesses: optional(witnessFile, 'no witnesses', {
    env: 'AUDIT_WITNESSES',
    description:
      'the path of a file with the witnesses that cosign the instance log: a line `verifier-key url` for each, and a line `quorum N`; a text after `#` is a comment. Needs AUDIT_LOG_KEY. Equal for all processes; read at start. docs/operations/pick-witnesses.md',
  }),
  auditWitnessInterval: defaulted(integer(1, 3_600), 10, {
    env: 'AUDIT_WITNESS_INTERVAL',
    description:
      'the instance log grows, and its checkpoint is sent to the witnesses, at most once in this time, in seconds',
  }),

  ...section('Audit archive'),
  auditArchiveUrl: optional(archiveUrl, 'no archive: audit events older than 90 days are deleted', {
    env: 'AUDIT_ARCHIVE_URL',
    description:
      "where the audit log of closed days is kept: `s3://bucket/prefix`, or `file:///folder`, a folder that exists and that all processes share. The credentials of S3 come from AWS's usual places: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, a web identity token, or the role of the container or machine",
  }),
  auditArchiveEndpoint: optional(archiveEndpoint, 'the S3 of Amazon in the region', {
    env: 'AUDIT_ARCHIVE_ENDPOINT',
    description:
      'the http or https address of another S3 server, which must know conditional writes (`If-None-Match: *`). The bucket is then in the path (`https://s3.example.com/bucket`)',
  }),
  auditArchiveRegion: optional(
    archiveRegion,
    'AWS_REGION, else that of the profile; with AUDIT_ARCHIVE_ENDPOINT `us-east-1`',
    {
      env: 'AUDIT_ARCHIVE_REGION',
      description: 'the region of the bucket',
    },
  ),
  auditArchiveLockDays: optional(integer(1, 36_500), 'the default retention of the bucket, if it has one', {
    env: 'AUDIT_ARCHIVE_LOCK_DAYS',
    description:
      'for how many days objects cannot be deleted or replaced by anyone: Object Lock in compliance mode, which the bucket must have. No one can shorten it afterwards',
  }),

  ...section('Mail'),
  smtpUrl: optional(smtpUrl, 'no mails', {
    env: 'SMTP_URL',
    orFile: true,
    description:
      'the mail server for mails about requests for approval, as smtp://user:password@host:587 (STARTTLS) or smtps://user:password@host:465 (TLS). With a password the connection is always encrypted. Set it together with MAIL_FROM',
  }),
  mailFrom: optional(mailSender, 'see SMTP_URL', {
    env: 'MAIL_FROM',
    description: 'the sender of mails, as `name@example.com` or `Name <name@example.com>`',
  }),

  ...section('Features'),
  consoleBuild: defaulted(flag, true, {
    env: 'CONSOLE_BUILD',
    description:
      'in a checkout whose web console or documentation is not built, `dev` and `serve` build it when they start; with false they serve the API without it',
  }),
  analyticsEnabled: defaulted(flag, true, {
    env: 'ANALYTICS_ENABLED',
    description: 'false makes the analytics endpoints answer 404',
  }),
  complianceEnabled: defaulted(flag, true, {
    env: 'COMPLIANCE_ENABLED',
    description: 'false makes the compliance report and agent-card export answer 404',
  }),

  ...section('Console'),
  consoleOidcIssuer: optional(providerAddress, 'people cannot sign in through a provider', {
    env: 'CONSOLE_OIDC_ISSUER',
    description:
      'the issuer of the OpenID provider through which invited people sign in to the console. Set it together with the next two variables. The provider needs the redirect URI `BASE_URL/console/api/oidc/callback`; its address may be private',
  }),
  consoleOidcClientId: optional(trimmed, 'see CONSOLE_OIDC_ISSUER', {
    env: 'CONSOLE_OIDC_CLIENT_ID',
    description: 'the client id of the console at the provider',
  }),
  consoleOidcClientSecret: optional(trimmed, 'see CONSOLE_OIDC_ISSUER', {
    env: 'CONSOLE_OIDC_CLIENT_SECRET',
    orFile: true,
    description: 'the client secret of the console at the provider',
  }),
  consoleOidcName: optional(providerName, 'the host of CONSOLE_OIDC_ISSUER', {
    env: 'CONSOLE_OIDC_NAME',
    description: 'the name of the provider on the sign-in page, at most 60 characters',
  }),

  ...section('Billing'),
  stripeSecretKey: optional(asciiWord, 'the embedded billing provider is used, if allowed', {
    env: 'STRIPE_SECRET_KEY',
    orFile: true,
    description:
      "Stripe's secret key. Set it together with the next three variables to sell plans through Stripe",
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
  stripeApiUrl: optional(origin, "Stripe's public API", {
    env: 'STRIPE_API_URL',
    description: "URL of Stripe's API (scheme, host, port), for a proxy or for tests with stripe-mock",
  }),
  billingAllowEmbedded: defaulted(flag, false, {
    env: 'BILLING_ALLOW_EMBEDDED',
    description:
      'allows the embedded billing provider, which takes no money, also with NODE_ENV=production or MULTI_TENANT=true; without it and without Stripe, plans cannot be ordered there',
  }),
} as const;
