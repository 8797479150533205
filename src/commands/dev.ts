/** `countersign dev`: sets the required variables (embedded PostgreSQL, no Redis, generated keys), then starts the server of `serve`. */
import { createPublicKey, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startRestartingPostgres } from '../adapters/embedded-postgres/restart.ts';
import { startTracing } from '../adapters/opentelemetry/start-tracing.ts';
import type { App } from '../app.ts';
import { type Config, loadConfig, loadVariable } from '../kernel/config/config.ts';
import { generateKeyPair } from '../kernel/config/keypair.ts';
import { createLifecycle } from '../kernel/lifecycle.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createOperator, type Operator } from './bootstrap.ts';
import { ensureConsole, ensureDocs } from './build-pages.ts';
import { replacePrivateFile } from './client/private-file.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { developmentFiles } from './development-files.ts';
import { developmentEnvironment } from './development-instance.ts';
import type { Io } from './io.ts';
import { readableLog } from './readable-log.ts';
import { recordInstance } from './recorded-instances.ts';
import { retryOverloaded } from './retry-overloaded.ts';
import { requireFreePort, startServer } from './serve.ts';
import { print, quoted } from './terminal.ts';

type Admin = Operator & { readonly baseUrl: string };
type Files = ReturnType<typeof developmentFiles>;

const loopback = '127.0.0.1';
const overridden = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_POOLER',
  'REDIS_URL',
  'JWT_PRIVATE_KEY',
  'JWT_PUBLIC_KEY',
];

export async function dev(io: Io, options: { port?: string; data: string }): Promise<void> {
  const { env } = io;
  const say = (text: string) => print(io, text);
  const data = resolve(options.data);
  const files = developmentFiles(data);
  const PORT = options.port ?? env.PORT;
  requirePort(options.port);
  await requireFreePort(env.HOST?.trim() || loopback, loadVariable('port', { PORT }));
  const log = createLog({ level: env.LOG_LEVEL ?? 'warn', destination: readableLog(io) });
  const lifecycle = createLifecycle(log, io);
  let isReady = false;
  // The first step is the last to run.
  lifecycle.onStop(async () => {
    if (isReady) say(`\nCountersign has stopped. Its data stays in ${options.data}. Goodbye!`);
  });
  // For root, PostgreSQL runs as another user, which must be able to traverse the folder; each secret file is 0600.
  mkdirSync(data, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  for (const name of overridden)
    if (env[name] || env[`${name}_FILE`])
      say(`dev ignores ${name} from the environment and uses its own; use serve to set it.`);

  const buildsPages = loadVariable('consoleBuild', env);
  const consoleBuilt = buildsPages ? ensureConsole(say) : undefined;
  // PostgreSQL fails to start for reasons of the machine (a folder in use, a missing package, a full disk), which the user can fix.
  const postgres = await startRestartingPostgres({ dataDir: files.postgres, print: say }).catch((error) => {
    throw new CommandError(error.message);
  });
  lifecycle.onStop(() => postgres.stop());
  let started: { readonly app: App; readonly admin: Admin } | undefined;
  let config: Config;
  try {
    provideKeys(files);
    await recordInstance(io, data).catch((error) =>
      say(`While this instance is stopped, audit verify and audit export will need --data: ${error.message}`),
    );
    config = loadConfig({
      HOST: loopback,
      ...developmentEnvironment(env, data),
      PORT,
      BASE_URL: env.BASE_URL?.trim() || `http://localhost:${loadVariable('port', { PORT })}`,
      DATABASE_URL: postgres.url,
    });
    lifecycle.onStop((await startTracing(env, log)).stop);
    await startServer(config, log, lifecycle, {
      worker: true,
      beforeListening: async (app) => {
        started = { app, admin: await adminOf(app, files.admin, config.baseUrl) };
      },
    });
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  io.exitCode = undefined;
  if (!started) return;
  // The link is good for a minute, so it is made when it can be used.
  await consoleBuilt;
  const { app, admin } = started;
  const link = await retryOverloaded(() => app.webConsole.linkFor(admin.clientId, admin.clientSecret));
  say(banner(admin, options.data, link?.url));
  isReady = true;
  if (buildsPages) void ensureDocs(say);
}

/** Before PostgreSQL starts. The configuration would name the variable PORT, which the user did not set. */
function requirePort(port: string | undefined): void {
  if (port === undefined) return;
  try {
    // An empty variable counts as not set; an empty option is the mistake of a script.
    loadVariable('port', { PORT: port.trim() || '""' });
  } catch {
    throw new CommandError(
      `--port must be a number from 1 to 65535; it is "${quoted(port)}"`,
      exitCodes.usage,
    );
  }
}

function provideKeys({ privateKey, publicKey, logKey, encryptionKey }: Files): void {
  if (!existsSync(privateKey)) {
    const { privatePem, publicPem } = generateKeyPair();
    replacePrivateFile(publicKey, publicPem);
    replacePrivateFile(privateKey, privatePem);
  }
  if (!existsSync(publicKey)) replacePrivateFile(publicKey, publicHalf(privateKey));
  if (!existsSync(logKey)) replacePrivateFile(logKey, generateKeyPair('ed25519').privatePem);
  if (!existsSync(encryptionKey)) replacePrivateFile(encryptionKey, randomBytes(32).toString('base64'));
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

/** The operator stored by the last start if its secret still works; otherwise a new operator, or a new secret for the existing one. */
async function adminOf(app: App, file: string, baseUrl: string): Promise<Admin> {
  const operator = await app.db.transaction((tx) => app.agents.findOperator(tx));
  const stored = readAdmin(file);
  const isSame = stored !== undefined && stored.agentId === operator?.agentId;
  const works = isSame && (await app.credentials.isValidSecret(stored.agentId, stored.clientSecret));
  const admin = works ? { ...stored, baseUrl } : { baseUrl, ...(await createOperator(app, true)) };
  replacePrivateFile(file, `${JSON.stringify(admin, null, 2)}\n`);
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

/** `link` is undefined when sessions cannot begin: over plain http at a public address. */
const banner = ({ baseUrl, clientId, clientSecret }: Admin, data: string, link: string | undefined) => `
Countersign is ready at ${baseUrl}

  Console        ${link ?? `${baseUrl}/console`}
                 ${link ? 'The link works once, within a minute. For a new one: npx --no-install countersign console' : 'Signing in needs https, or an address of this machine.'}
  Documentation  ${baseUrl}/docs
  client_id      ${clientId}
  client_secret  ${clientSecret}
  Stored in      ${join(data, 'admin.json')}

These are the credentials of an operator with every scope. Get your first token with:

  curl -s ${baseUrl}/api/v1/token -d grant_type=client_credentials \\
    -d client_id=${clientId} -d client_secret=${clientSecret}

Ctrl-C stops the server and PostgreSQL; the data stays in ${data}.
`;
