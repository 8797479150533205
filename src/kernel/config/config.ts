/**
 * Reads the environment once into one frozen object and reports all problems together.
 * The variables are defined in kernel/config/variables.ts; docs/reference/configuration.md is generated from it.
 */
import { readFileSync } from 'node:fs';
import { organizationScopes, type Scope } from '../../contract/scopes.ts';
import type { ArchiveSettings } from './archive.ts';
import { type KeyPair, keysMatch } from './keypair.ts';
import { SeveralProblems } from './variable-kinds.ts';
import { type ValueOf, type Variable, variables } from './variables.ts';
import { witnessProblems } from './witness-file.ts';

type Values = { readonly [K in keyof typeof variables]: ValueOf<(typeof variables)[K]> };

type ArchiveValues = Pick<Values, Extract<keyof Values, `auditArchive${string}`>>;

export type Config = Omit<
  Values,
  | 'jwtPrivateKey'
  | 'jwtPublicKey'
  | 'baseUrl'
  | 'defaultAgentScopes'
  | 'unregisteredResources'
  | 'resourceIdentifiers'
  | 'databasePreparedStatements'
  | keyof ArchiveValues
> & {
  readonly baseUrl: string;
  /** Whether plans may be ordered from the embedded provider, which takes no money. */
  readonly embeddedBilling: boolean;
  /** Of our API, for an agent that is created without `allowedScopes`. */
  readonly defaultAgentScopes: readonly Scope[];
  /** Whether agents get tokens for audiences that are no registered resource. */
  readonly unregisteredResources: 'allow' | 'refuse';
  /** Whether the owner of a resource must prove the host of its identifier. */
  readonly resourceIdentifiers: 'open' | 'verified';
  readonly databasePreparedStatements: boolean;
  readonly signingKeys: KeyPair;
  readonly auditArchive: ArchiveSettings | undefined;
};

export type Environment = Readonly<Record<string, string | undefined>>;

export class ConfigProblems extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    );
    this.name = 'ConfigProblems';
    this.problems = problems;
  }
}

export function loadConfig(env: Environment): Config {
  const problems: string[] = [];
  const values = Object.fromEntries(
    Object.entries<Variable<unknown>>(variables).map(([key, variable]) => [
      key,
      read(variable, env, problems),
    ]),
  ) as unknown as Values;

  const { jwtPrivateKey, jwtPublicKey, ...rest } = values;
  if (jwtPrivateKey && jwtPublicKey && !keysMatch({ privateKey: jwtPrivateKey, publicKey: jwtPublicKey })) {
    problems.push(
      'JWT_PRIVATE_KEY and JWT_PUBLIC_KEY do not belong together: tokens signed by one would not verify with the other',
    );
  }
  const { dataEncryptionKey: key, dataEncryptionPreviousKeys: otherKeys = [] } = values;
  if (key && otherKeys.some((other) => other.equals(key))) {
    problems.push(
      'DATA_ENCRYPTION_PREVIOUS_KEYS lists DATA_ENCRYPTION_KEY itself: it lists the other keys, which only decrypt',
    );
  }
  if ((values.webConcurrency ?? 1) > 1 && values.redisUrl?.startsWith('memory:')) {
    problems.push(
      'WEB_CONCURRENCY above 1 needs a Redis that the processes share; REDIS_URL=memory:// serves a single process',
    );
  }
  if (values.nodeEnv === 'production' && textOf(variables.baseUrl, env) === undefined) {
    problems.push(
      'BASE_URL is missing: with NODE_ENV=production tokens, DIDs and links need the public address, such as https://id.example.com',
    );
  }
  problems.push(
    ...missingStripeVariables(env),
    ...missingProviderVariables(env),
    ...missingAmong(env, [variables.smtpUrl, variables.mailFrom], [], 'mails need both variables'),
  );
  problems.push(
    ...missingAmong(
      env,
      [variables.auditLogKey],
      [variables.auditWitnesses],
      'witnesses cosign the instance log',
    ),
    ...witnessProblems(values),
    ...archiveProblems(env),
  );
  if (values.stripePricePro && values.stripePricePro === values.stripePriceEnterprise) {
    problems.push(
      'STRIPE_PRICE_PRO and STRIPE_PRICE_ENTERPRISE are the same: a payment would not show its plan',
    );
  }
  const sasl = [values.kafkaSaslMechanism, values.kafkaSaslUsername, values.kafkaSaslPassword];
  if (sasl.some(Boolean) && !sasl.every(Boolean)) {
    problems.push(
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD belong together: set all three or none',
    );
  }
  if (problems.length > 0) throw new ConfigProblems(problems);

  const resourceIdentifiers = values.resourceIdentifiers ?? (values.multiTenant ? 'verified' : 'open');
  return Object.freeze({
    ...rest,
    baseUrl: values.baseUrl ?? `http://localhost:${values.port}`,
    embeddedBilling: values.billingAllowEmbedded || (values.nodeEnv !== 'production' && !values.multiTenant),
    databasePreparedStatements: values.databasePreparedStatements ?? values.databasePooler === 'none',
    defaultAgentScopes: values.defaultAgentScopes ?? organizationScopes,
    resourceIdentifiers,
    // A pending identifier counts as unregistered: no token is issued for it.
    unregisteredResources:
      values.unregisteredResources ??
      (values.multiTenant || resourceIdentifiers === 'verified' ? 'refuse' : 'allow'),
    signingKeys: { privateKey: jwtPrivateKey, publicKey: jwtPublicKey },
    auditArchive: archiveOf(values),
  });
}

/** In production others than the operator may reach the port. */
export const hasOpenMetrics = ({
  nodeEnv,
  metricsToken,
}: Pick<Config, 'nodeEnv' | 'metricsToken'>): boolean =>
  nodeEnv === 'production' && metricsToken === undefined;

/** Stripe needs all of its variables: without one, plans cannot be ordered or payments are not noticed. */
function missingStripeVariables(env: Environment): string[] {
  const { stripeSecretKey, stripeWebhookSecret, stripePricePro, stripePriceEnterprise, stripeApiUrl } =
    variables;
  const needed = [stripeSecretKey, stripeWebhookSecret, stripePricePro, stripePriceEnterprise];
  return missingAmong(env, needed, [stripeApiUrl], 'with Stripe all of its variables are needed');
}

function missingProviderVariables(env: Environment): string[] {
  const { consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret, consoleOidcName } = variables;
  const needed = [consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret];
  return missingAmong(
    env,
    needed,
    [consoleOidcName],
    'people sign in through a provider with all three or none',
  );
}

const archiveOf = (values: ArchiveValues): ArchiveSettings | undefined =>
  values.auditArchiveUrl === undefined
    ? undefined
    : Object.freeze({
        url: values.auditArchiveUrl,
        endpoint: values.auditArchiveEndpoint,
        region: values.auditArchiveRegion,
        lockDays: values.auditArchiveLockDays,
      });

/** Variables that only a bucket needs. */
function archiveProblems(env: Environment): string[] {
  const { auditArchiveUrl, auditArchiveEndpoint, auditArchiveRegion, auditArchiveLockDays } = variables;
  if (/^s3:/i.test(env[auditArchiveUrl.env]?.trim() ?? '')) return [];
  return [auditArchiveEndpoint, auditArchiveRegion, auditArchiveLockDays]
    .filter((variable) => isGiven(env, variable))
    .map(
      ({ env: name }) =>
        `${name} is only for a bucket: remove it, or set AUDIT_ARCHIVE_URL to s3://bucket/prefix${name === auditArchiveLockDays.env ? '; a folder has no Object Lock' : ''}`,
    );
}

/** Of variables that belong together, those that are missing although another one is given. */
function missingAmong(
  env: Environment,
  needed: readonly Variable<unknown>[],
  others: readonly Variable<unknown>[],
  reason: string,
): string[] {
  if (![...needed, ...others].some((variable) => isGiven(env, variable))) return [];
  return needed
    .filter((variable) => !isGiven(env, variable))
    .map((variable) => `${missing(variable)}: ${reason}`);
}

const isGiven = (env: Environment, { env: name, orFile }: Variable<unknown>) =>
  Boolean(env[name]?.trim() || (orFile && env[`${name}_FILE`]?.trim()));

/** The database for commands that need whole sessions or long statements: without the pooler, if there is a way around it. */
export function loadDirectDatabase(env: Environment): {
  url: string;
  variable?: string;
  pooler: Config['databasePooler'];
} {
  const direct = loadVariable('databaseDirectUrl', env);
  return direct === undefined
    ? { url: loadVariable('databaseUrl', env), pooler: loadVariable('databasePooler', env) }
    : { url: direct, variable: variables.databaseDirectUrl.env, pooler: 'none' };
}

/** The database that the servers use, when `loadDirectDatabase` goes around its pooler. */
export function loadPooledDatabase(
  env: Environment,
): { url: string; pooler: Config['databasePooler'] } | undefined {
  const { databaseUrl, databaseDirectUrl } = variables;
  return isGiven(env, databaseUrl) && isGiven(env, databaseDirectUrl)
    ? { url: loadVariable('databaseUrl', env), pooler: loadVariable('databasePooler', env) }
    : undefined;
}

/** The audit archive, for commands that need no more. */
export function loadArchive(env: Environment): ArchiveSettings | undefined {
  const problems: string[] = [];
  const archive = archiveOf({
    auditArchiveUrl: read(variables.auditArchiveUrl, env, problems),
    auditArchiveEndpoint: read(variables.auditArchiveEndpoint, env, problems),
    auditArchiveRegion: read(variables.auditArchiveRegion, env, problems),
    auditArchiveLockDays: read(variables.auditArchiveLockDays, env, problems),
  });
  problems.push(...archiveProblems(env));
  if (problems.length > 0) throw new ConfigProblems(problems);
  return archive;
}

/** One variable, for commands that need no more. */
export function loadVariable<K extends keyof Values>(key: K, env: Environment): Values[K] {
  const problems: string[] = [];
  const value = read<unknown>(variables[key], env, problems);
  if (problems.length > 0) throw new ConfigProblems(problems);
  return value as Values[K];
}

function read<T>(variable: Variable<T>, env: Environment, problems: string[]): T | undefined {
  try {
    const text = textOf(variable, env);
    if (text !== undefined) return variable.parse(text);
    if (variable.required) problems.push(`${missing(variable)}: ${variable.description}`);
  } catch (error) {
    const messages = error instanceof SeveralProblems ? error.problems : [(error as Error).message];
    problems.push(...messages.map((message) => `${variable.env} ${message}`));
  }
  return variable.fallback;
}

/** An empty variable counts as absent: shells and compose files unset variables this way. */
function textOf(variable: Variable<unknown>, env: Environment): string | undefined {
  const direct = env[variable.env]?.trim();
  if (!variable.orFile) return direct || undefined;
  const path = env[`${variable.env}_FILE`]?.trim();
  if (direct && path) throw new Error(`and ${variable.env}_FILE are both set: remove one of them`);
  if (!path) return direct || undefined;
  try {
    const content = readFileSync(path, 'utf8').trim();
    if (content !== '') return content;
  } catch (error) {
    throw new Error(`cannot be read from ${variable.env}_FILE (${(error as NodeJS.ErrnoException).code})`);
  }
  throw new Error(`cannot be read from ${variable.env}_FILE: the file is empty`);
}

const missing = ({ env, orFile }: Variable<unknown>) =>
  orFile ? `${env} is missing (or ${env}_FILE)` : `${env} is missing`;
