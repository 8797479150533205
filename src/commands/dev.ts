/** `countersign dev`: supplies the variables (a real PostgreSQL, no Redis, keys of its own) and then runs what `serve` runs. */
import { createPublicKey, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { keepEmbeddedPostgres } from '../adapters/embedded-postgres/keep.ts';
import type { App } from '../app.ts';
import { type Config, type Environment, loadConfig, loadVariable } from '../kernel/config/config.ts';
import { generateKeyPair } from '../kernel/config/keypair.ts';
import { createLifecycle } from '../kernel/lifecycle.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createOperator, type Operator } from './bootstrap.ts';
import { Refusal } from './refusal.ts';
import { startServer } from './serve.ts';
import { print } from './terminal.ts';

type Admin = Operator & { readonly baseUrl: string };

const supplied = ['DATABASE_URL', 'REDIS_URL', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY'];

export async function dev(env: Environment, options: { port?: string; data: string }): Promise<void> {
  const data = resolve(options.data);
  const log = createLog({ level: env.LOG_LEVEL ?? 'warn' });
  const lifecycle = createLifecycle(log);
  // Root's PostgreSQL runs as another user, who must be able to pass through; what is secret is 0600 itself.
  mkdirSync(data, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  for (const name of supplied)
    if (env[name]) print(`${name} in the environment is ignored: dev brings its own (use serve).`);

  // Whatever keeps PostgreSQL from starting (a folder in use, a missing package, a full disk) is the machine's, not ours.
  const postgres = await keepEmbeddedPostgres({ dataDir: join(data, 'postgres'), say: print }).catch(
    (error) => {
      throw new Refusal(error.message, { cause: error });
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
  if (admin) print(welcome(admin, options.data));
}

function signingKeys(data: string): Environment {
  const privateFile = join(data, 'signing-key.pem');
  const publicFile = join(data, 'signing-key.pub.pem');
  if (!existsSync(privateFile)) {
    const { privatePem, publicPem } = generateKeyPair();
    writePrivately(publicFile, publicPem);
    writePrivately(privateFile, privatePem);
  }
  if (!existsSync(publicFile)) writePrivately(publicFile, publicHalf(privateFile));
  return {
    JWT_PRIVATE_KEY: '',
    JWT_PUBLIC_KEY: '',
    JWT_PRIVATE_KEY_FILE: privateFile,
    JWT_PUBLIC_KEY_FILE: publicFile,
  };
}

/** What tokens, audit log and DIDs rest on is never made anew while it is there. */
function publicHalf(privateFile: string): string {
  try {
    return createPublicKey(readFileSync(privateFile, 'utf8'))
      .export({ type: 'spki', format: 'pem' })
      .toString();
  } catch {
    throw new Refusal(
      `${privateFile} holds no private key: bring back the right one, or remove it to begin with another`,
    );
  }
}

function encryptionKey(data: string): string {
  const file = join(data, 'encryption-key');
  if (!existsSync(file)) writePrivately(file, randomBytes(32).toString('base64'));
  return readFileSync(file, 'utf8').trim();
}

/** The operator of the last start, if it still is that and its secret works; otherwise a new one, or a new secret for the old. */
async function adminOf(app: App, file: string, baseUrl: string): Promise<Admin> {
  const operator = await app.db.transaction((tx) => app.agents.findOperator(tx));
  const remembered = readAdmin(file);
  const isSame = remembered !== undefined && remembered.agentId === operator?.agentId;
  const works = isSame && (await app.credentials.isGood(remembered.agentId, remembered.clientSecret));
  const admin = works ? { ...remembered, baseUrl } : { baseUrl, ...(await createOperator(app, true)) };
  writePrivately(file, `${JSON.stringify(admin, null, 2)}\n`);
  return admin;
}

/** Undefined when there is none, or somebody has been at it. */
function readAdmin(file: string): Admin | undefined {
  try {
    const admin = JSON.parse(readFileSync(file, 'utf8'));
    const isWhole = [admin.agentId, admin.clientId, admin.clientSecret].every(
      (text) => typeof text === 'string',
    );
    return isWhole ? admin : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all, and for nobody else's eyes. */
function writePrivately(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text, { mode: 0o600 });
  chmodSync(unfinished, 0o600);
  renameSync(unfinished, file);
}

const welcome = ({ baseUrl, clientId, clientSecret }: Admin, data: string) => `
Countersign is ready at ${baseUrl}

  Reference      ${baseUrl}/docs
  client_id      ${clientId}
  client_secret  ${clientSecret}
  Kept in        ${join(data, 'admin.json')}

Your first token, ready to paste:

  curl -s ${baseUrl}/api/v1/token -d grant_type=client_credentials \\
    -d client_id=${clientId} -d client_secret=${clientSecret}

Ctrl-C stops everything; the data stays in ${data}.
`;
