/**
 * The configuration as an operator may see it. Numbers and switches are shown, other values only if they are listed here: a new
 * variable stays hidden until a person has decided that it is no secret.
 */
import type { Config } from './config.ts';
import { publicAddressOf } from './server-urls.ts';
import { type Variable, variables } from './variables.ts';

export interface ShownVariable {
  /** The environment variable. */
  readonly name: string;
  readonly group: string;
  readonly description: string;
  /** Null when it is not set, and for a secret. */
  readonly value: string | null;
  /** Its value is not shown. */
  readonly hidden: boolean;
  readonly isSet: boolean;
}

type Key = keyof typeof variables;

const shownTexts: ReadonlySet<Key> = new Set<Key>([
  'host',
  'baseUrl',
  'nodeEnv',
  'unregisteredResources',
  'resourceIdentifiers',
  'policiesDir',
  'databasePooler',
  'logLevel',
  'logRequests',
  'trustProxy',
  'corsOrigin',
  'auditArchiveUrl',
  'auditArchiveEndpoint',
  'auditArchiveRegion',
  'kafkaBrokers',
  'kafkaTopicPrefix',
  'kafkaSaslMechanism',
  'stripeApiUrl',
  'consoleOidcIssuer',
  'consoleOidcClientId',
  'consoleOidcName',
]);
/** Shown without user, password and parameters. */
const shownAddresses: ReadonlySet<Key> = new Set<Key>(['databaseUrl', 'databaseDirectUrl', 'redisUrl']);

export function shownConfiguration(config: Config): ShownVariable[] {
  const { privateKey, publicKey } = config.signingKeys;
  const values = { ...config, jwtPrivateKey: privateKey, jwtPublicKey: publicKey } as Readonly<
    Record<string, unknown>
  >;
  return Object.entries<Variable<unknown>>(variables).map(([key, { env, group, description }]) => {
    const value = values[key];
    const isSet = value !== undefined && value !== null;
    const shown = isSet ? textOf(key as Key, value) : null;
    return { name: env, group, description, value: shown, hidden: isSet && shown === null, isSet };
  });
}

function textOf(key: Key, value: unknown): string | null {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (shownAddresses.has(key)) return publicAddressOf(String(value)) ?? null;
  if (!shownTexts.has(key)) return null;
  const items = (Array.isArray(value) ? value : [value]).map(itemText);
  return items.every((item) => item !== undefined) ? items.join(', ') : null;
}

const itemText = (item: unknown): string | undefined => {
  if (typeof item === 'string') return item;
  const { host, port } = (item ?? {}) as { host?: unknown; port?: unknown };
  return typeof host === 'string' ? `${host}:${port}` : undefined;
};
