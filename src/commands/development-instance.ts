/**
 * The instance that `countersign dev` runs: the variables that it sets for itself. Commands that need the variables of a server use
 * them, too, when they run beside it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Environment } from '../kernel/config/config.ts';
import { defaultDataFolder } from './client/connection-options.ts';
import { CommandError } from './command-error.ts';
import { developmentFiles } from './development-files.ts';
import type { Io } from './io.ts';
import { isRecorded } from './recorded-instances.ts';
import { printError, quoted } from './terminal.ts';

/** `env` with what `dev` sets. Its files must exist. */
export function developmentEnvironment(env: Environment, data: string): Environment {
  const { privateKey, publicKey, logKey, encryptionKey } = developmentFiles(data);
  const isGiven = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  return {
    ...env,
    LOG_LEVEL: env.LOG_LEVEL ?? 'warn',
    DATABASE_URL_FILE: '',
    DATABASE_DIRECT_URL: '',
    DATABASE_DIRECT_URL_FILE: '',
    DATABASE_POOLER: '',
    REDIS_URL: 'memory://',
    REDIS_URL_FILE: '',
    JWT_PRIVATE_KEY: '',
    JWT_PUBLIC_KEY: '',
    JWT_PRIVATE_KEY_FILE: privateKey,
    JWT_PUBLIC_KEY_FILE: publicKey,
    ...(!isGiven('AUDIT_LOG_KEY') && { AUDIT_LOG_KEY: '', AUDIT_LOG_KEY_FILE: logKey }),
    ...(!isGiven('DATA_ENCRYPTION_KEY') && {
      DATA_ENCRYPTION_KEY: '',
      DATA_ENCRYPTION_KEY_FILE: encryptionKey,
    }),
  };
}

/** Without these, a server does not start. */
export const requiredVariables: readonly string[] = [
  'DATABASE_URL',
  'REDIS_URL',
  'JWT_PRIVATE_KEY',
  'JWT_PUBLIC_KEY',
];

export interface DevelopmentInstance {
  readonly env: Environment;
  /** The address of its PostgreSQL while it runs. */
  runningDatabase(): Promise<string | undefined>;
  /** Throws for a default folder in which the user has not run `dev`. `what` would use the folder; `otherwise` is what the user may do. */
  requireTrust(what: string, otherwise: string): void;
  /** Starts PostgreSQL for the command if the instance does not run, and the user trusts the folder. */
  openDatabase(): Promise<{ readonly url: string; stop(): Promise<void> }>;
}

/**
 * The instance in the data folder, for a command whose environment names no server of its own. A folder that is `given` is trusted; the
 * one in the current folder is, after the user has run `dev` there.
 */
export function findDevelopmentInstance(io: Io, given: string | undefined): DevelopmentInstance | undefined {
  const data = given ?? defaultDataFolder;
  const { env } = io;
  if (requiredVariables.some((name) => env[name]?.trim() || env[`${name}_FILE`]?.trim())) return undefined;
  const { privateKey, publicKey, postgres, admin } = developmentFiles(data);
  if (![privateKey, publicKey, postgres].every((file) => existsSync(file))) return undefined;
  printError(
    io,
    `This is about the instance of \`countersign dev\` in ${quoted(data)}: DATABASE_URL and the other variables of a server are not set.`,
  );
  // Imported here: the verification of an export needs no database.
  const launcher = () => import('../adapters/embedded-postgres/embedded-postgres.ts');
  const runningDatabase = async () => (await launcher()).findRunningPostgres({ dataDir: postgres });
  const requireTrust = (what: string, otherwise: string): void => {
    if (given !== undefined || isRecorded(io, data)) return;
    throw new CommandError(
      `you have not run \`countersign dev\` in ${quoted(resolve(data))}, which may come from another party: ${what}. ${otherwise}, or give --data ${quoted(data)} if you trust the folder`,
    );
  };
  return {
    requireTrust,
    env: { ...developmentEnvironment(env, data), BASE_URL: env.BASE_URL?.trim() || addressIn(admin) },
    runningDatabase,
    async openDatabase() {
      const url = await runningDatabase();
      if (url !== undefined) return { url, stop: async () => {} };
      requireTrust(
        'its database does not run, and to start it runs commands that the folder may have',
        'Start it with `countersign dev`',
      );
      const { startEmbeddedPostgres } = await launcher();
      return startEmbeddedPostgres({ dataDir: postgres }).catch((error) => {
        throw new CommandError(error.message);
      });
    },
  };
}

/** `dev` writes it at each start. */
function addressIn(file: string): string | undefined {
  try {
    const { baseUrl } = JSON.parse(readFileSync(file, 'utf8'));
    return typeof baseUrl === 'string' ? baseUrl : undefined;
  } catch {
    return undefined;
  }
}
