/** `countersign scaffold`: downloads an agent's project from a running server and writes it into a folder. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { unpack } from '../adapters/zip.ts';
import type { Environment } from '../kernel/config/config.ts';
import { isUuid } from '../kernel/ids.ts';
import { CommandError } from './command-error.ts';
import { print, quoted } from './terminal.ts';

export interface ScaffoldOptions {
  readonly language: string;
  readonly out: string;
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The data folder of `dev`, which holds its operator's credentials. */
  readonly data: string;
  readonly force?: boolean;
}

interface Account {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const requestTimeoutMs = 30_000;
/** Several times the size of our largest template. The server may be anyone's. */
const maxResponseBytes = 1024 * 1024;
export const unpackLimits = { maxFiles: 500, maxFileBytes: 1024 * 1024, maxBytes: 8 * 1024 * 1024 };

const loadSettings = 'set -a && . ./.env && set +a';
/** Commands to paste, the same as in the project's README. */
const firstSteps: Readonly<Record<string, readonly string[]>> = {
  typescript: ['npm ci && npm start'],
  python: [
    "python3 -m venv .venv && . .venv/bin/activate && pip install -e '.[dev]'",
    `${loadSettings} && python -m agent`,
  ],
  go: [`${loadSettings} && go run .`],
  java: ['mvn package', `${loadSettings} && java -jar target/agent.jar`],
  rust: [`${loadSettings} && cargo run`],
};

export async function scaffold(agentId: string, env: Environment, options: ScaffoldOptions): Promise<void> {
  const { language, force = false } = options;
  if (!isUuid(agentId)) throw new CommandError(`${agentId} is not an agent id; give a UUID`);
  const out = resolve(options.out);
  // Before the download, which would be useless.
  requireEmpty(out, force);
  const account = accountFrom(env, options);
  const files = await download(account, agentId, language);
  for (const { path, bytes } of files) {
    const file = join(out, path);
    withWriteErrors(() => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    });
  }
  print(`${files.length} files written to ${options.out}. Next:

  cd ${options.out}
  cp .env.example .env   # then set the agent's client secret in it
  ${(firstSteps[language] ?? []).join('\n  ')}

README.md explains the project.`);
}

function requireEmpty(out: string, force: boolean): void {
  let entries: string[] = [];
  try {
    entries = readdirSync(out);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new CommandError(`cannot write to ${out}: ${message}`);
  }
  if (entries.length > 0 && !force)
    throw new CommandError(
      `${out} is not empty; choose another folder, or use --force to write into it and replace files of the same name`,
    );
}

/**
 * Options, then the environment, then the admin.json of `dev`; each of the three values is looked up separately. The operator's
 * credentials in admin.json are sent to the instance of that file only.
 */
function accountFrom(env: Environment, options: ScaffoldOptions): Account {
  const file = join(options.data, 'admin.json');
  const admin = readAdmin(file);
  const url = options.url ?? env.COUNTERSIGN_URL ?? admin.baseUrl;
  if (url && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new CommandError(`${url} is not the address of a server; it must start with http:// or https://`);
  const own = isSameOrigin(url, admin.baseUrl) ? admin : {};
  const clientId = options.clientId ?? env.COUNTERSIGN_CLIENT_ID ?? own.clientId;
  const clientSecret = options.clientSecret ?? env.COUNTERSIGN_CLIENT_SECRET ?? own.clientSecret;
  if (url && clientId && clientSecret) return { url: url.replace(/\/+$/, ''), clientId, clientSecret };
  if (url && admin.baseUrl && own !== admin)
    throw new CommandError(
      `no credentials for ${url}: give --client-id and --client-secret; those in ${file} are for ${admin.baseUrl} only`,
    );
  throw new CommandError(
    `no credentials: give --url, --client-id and --client-secret, or set COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET, or run this where \`countersign dev\` has written ${file}`,
  );
}

const isSameOrigin = (url: string | undefined, other: string | undefined): boolean => {
  const origin = URL.parse(url ?? '')?.origin;
  return origin !== undefined && origin === URL.parse(other ?? '')?.origin;
};

function readAdmin(file: string): Partial<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

async function download({ url, clientId, clientSecret }: Account, agentId: string, language: string) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const issued = await request(`${url}/api/v1/token`, { method: 'POST', body: new URLSearchParams(form) });
  const accessToken = tokenIn(issued);
  if (accessToken === undefined) throw new CommandError(`${url} sent no access token`);
  const query = new URLSearchParams({ language });
  const archive = await request(`${url}/api/v1/sdk/scaffold/${agentId}?${query}`, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const files = await unpack(archive, unpackLimits).catch((error) => {
    throw new CommandError(`${url} sent no usable archive: ${quoted(error.message)}`);
  });
  const unsafe = files.find(({ path }) => !isInside(path));
  if (unsafe)
    throw new CommandError(
      `the archive of ${url} contains a file with an unsafe name, "${quoted(unsafe.path)}"`,
    );
  return files;
}

/** Undefined unless the body holds a token that fits into a header. */
function tokenIn(body: Buffer): string | undefined {
  try {
    const { access_token } = JSON.parse(body.toString());
    return /^[\x21-\x7e]+$/.test(access_token) ? access_token : undefined;
  } catch {
    return undefined;
  }
}

/** Our templates use plain names; other characters could lead out of the folder. */
const isInside = (path: string): boolean =>
  path.split('/').every((part) => /^[\w.-]+$/.test(part) && part !== '.' && part !== '..');

async function request(url: string, init: RequestInit): Promise<Buffer> {
  let response: Response;
  let body: Buffer;
  try {
    response = await fetch(url, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    body = await readBody(response);
  } catch (error) {
    const { message, cause } = error as Error;
    throw error instanceof CommandError
      ? error
      : new CommandError(
          `cannot reach ${new URL(url).origin}: ${quoted(cause instanceof Error ? cause.message : message)}`,
        );
  }
  if (!response.ok)
    throw new CommandError(`${new URL(url).origin} answered ${response.status} ${explain(body)}`);
  return body;
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxResponseBytes)
      throw new CommandError(`the response of the server is longer than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The server's error in either of its two forms; a proxy may send neither. */
function explain(body: Buffer): string {
  try {
    const { code, message, error, error_description } = JSON.parse(body.toString());
    return quoted(`${code ?? error}: ${message ?? error_description}`);
  } catch {
    return 'without a reason';
  }
}

function withWriteErrors(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new CommandError(`cannot write: ${(error as Error).message}`);
  }
}
