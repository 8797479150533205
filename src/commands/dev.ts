/** `countersign dev`: sets the required variables (embedded PostgreSQL, no Redis, generated keys), then starts the server of `serve`. */
import { createPublicKey, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startRestartingPostgres } from '../adapters/embedded-postgres/restart.ts';
import type { App } from '../app.ts';
import { type Config, type Environment, loadConfig, loadVariable } from '../kernel/config/config.ts';
import { generateKeyPair } from '../kernel/config/keypair.ts';
import { createLifecycle } from '../kernel/lifecycle.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createOperator, type Operator } from './bootstrap.ts';
import { CommandError } from './command-error.ts';
import { startServer } from './serve.ts';
import { print, quoted } from './terminal.ts';

type Admin = Operator & { readonly baseUrl: string };

const overridden = ['DATABASE_URL', 'REDIS_URL', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY'];

export async function dev(env: Environment, options: { port?: string; data: string }): Promise<void> {
  const data = resolve(options.data);
  requirePort(options.port);
  const log = createLog({ level: env.LOG_LEVEL ?? 'warn' });
  const lifecycle = createLifecycle(log);
  // For root, PostgreSQL runs as another user, which must be able to traverse the folder; each secret file is 0600.
  mkdirSync(data, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  for (const name of overridden)
    if (env[name]) print(`dev ignores ${name} from the environment and uses its own; use serve to set it.`);

  // PostgreSQL fails to start for reasons of the machine (a folder in use, a missing package, a full disk), which the user can fix.
  const postgres = await startRestartingPostgres({ dataDir: join(data, 'postgres'), print }).catch(
    (error) => {
      throw new CommandError(error.message, { cause: error });
    },
  );
  lifecycle.onStop(() => postgres.stop());
  let admin: Admin | undefined;
  let config: Config;
  try {
    const PORT = options.port ?? env.PORT;
    config = loadConfig({
      HOST: '127.0.0.1',
      ...env,
      PORT,
      BASE_URL: env.BASE_URL?.trim() || `http://localhost:${loadVariable('port', { PORT })}`,
      LOG_LEVEL: env.LOG_LEVEL ?? 'warn',
      DATABASE_URL: postgres.url,
      REDIS_URL: 'memory://',
      ...signingKeys(data),
      DATA_ENCRYPTION_KEY: env.DATA_ENCRYPTION_KEY || encryptionKey(data),
    });
    await startServer(config, log, lifecycle, {
      worker: true,
      beforeListening: async (app) => {
        admin = await adminOf(app, join(data, 'admin.json'), config.baseUrl);
      },
    });
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  if (admin) print(banner(admin, options.data));
}

/** Before PostgreSQL starts. The configuration would name the variable PORT, which the user did not set. */
function requirePort(port: string | undefined): void {
  if (port === undefined) return;
  try {
    loadVariable('port', { PORT: port });
  } catch {
    throw new CommandError(`--port must be a number from 1 to 65535; it is "${quoted(port)}"`);
  }
}

function signingKeys(data: string): Environment {
  const privateFile = join(data, 'signing-key.pem');
  const publicFile = join(data, 'signing-key.pub.pem');
  if (!existsSync(privateFile)) {
    const { privatePem, publicPem } = generateKeyPair();
    writePrivateFile(publicFile, publicPem);
    writePrivateFile(privateFile, privatePem);
  }
  if (!existsSync(publicFile)) writePrivateFile(publicFile, publicHalf(privateFile));
  return {
    JWT_PRIVATE_KEY: '',
    JWT_PUBLIC_KEY: '',
    JWT_PRIVATE_KEY_FILE: privateFile,
    JWT_PUBLIC_KEY_FILE: publicFile,
  };
}

/** An existing private key is never replaced: tokens, the audit log and DIDs depend on it. */
function publicHalf(privateFile: string): string {
  try {
    return createPublicKey(readFileSync(privateFile, 'utf8'))
      .export({ type: 'spki', format: 'pem' })
      .toString();
  } catch {
    throw new CommandError(
      `${privateFile} does not contain a private key: restore it from a backup, or remove the file to generate a new key`,
    );
  }
}

function encryptionKey(data: string): string {
  const file = join(data, 'encryption-key');
  if (!existsSync(file)) writePrivateFile(file, randomBytes(32).toString('base64'));
  return readFileSync(file, 'utf8').trim();
}

/** The operator stored by the last start if its secret still works; otherwise a new operator, or a new secret for the existing one. */
async function adminOf(app: App, file: string, baseUrl: string): Promise<Admin> {
  const operator = await app.db.transaction((tx) => app.agents.findOperator(tx));
  const stored = readAdmin(file);
  const isSame = stored !== undefined && stored.agentId === operator?.agentId;
  const works = isSame && (await app.credentials.isValidSecret(stored.agentId, stored.clientSecret));
  const admin = works ? { ...stored, baseUrl } : { baseUrl, ...(await createOperator(app, true)) };
  writePrivateFile(file, `${JSON.stringify(admin, null, 2)}\n`);
  return admin;
}

/** Undefined when the file is missing or was edited beyond use. */
function readAdmin(file: string): Admin | undefined {
  try {
    const admin = JSON.parse(readFileSync(file, 'utf8'));
    const isComplete = [admin.agentId, admin.clientId, admin.clientSecret].every(
      (text) => typeof text === 'string',
    );
    return isComplete ? admin : undefined;
  } catch {
    return undefined;
  }
}

/** Atomic, and readable by the owner alone. */
function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, file);
}

const banner = ({ baseUrl, clientId, clientSecret }: Admin, data: string) => `
Countersign is ready at ${baseUrl}

  API reference  ${baseUrl}/docs
  client_id      ${clientId}
  client_secret  ${clientSecret}
  Stored in      ${join(data, 'admin.json')}

These are the credentials of an operator with every scope. Get your first token with:

  curl -s ${baseUrl}/api/v1/token -d grant_type=client_credentials \\
    -d client_id=${clientId} -d client_secret=${clientSecret}

Ctrl-C stops the server and PostgreSQL; the data stays in ${data}.
`;
