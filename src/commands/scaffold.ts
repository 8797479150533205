/** `countersign scaffold`: asks a running server for an agent's project and lays it out in a folder. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { unpack } from '../adapters/zip.ts';
import type { Environment } from '../kernel/config/config.ts';
import { isUuid } from '../kernel/ids.ts';
import { Refusal } from './refusal.ts';
import { print, quoted } from './terminal.ts';

export interface ScaffoldOptions {
  readonly language: string;
  readonly out: string;
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Where `dev` keeps its operator's credentials. */
  readonly data: string;
  readonly force?: boolean;
}

interface Account {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const answerMs = 30_000;
/** Several times what any template of ours needs. The server decides what it sends. */
const maxResponseBytes = 1024 * 1024;
export const unpackLimits = { maxFiles: 500, maxFileBytes: 1024 * 1024, maxBytes: 8 * 1024 * 1024 };

const withSettings = 'set -a && . ./.env && set +a';
/** Lines to paste, as the project's README has them. */
const firstSteps: Readonly<Record<string, readonly string[]>> = {
  typescript: ['npm ci && npm start'],
  python: [
    "python3 -m venv .venv && . .venv/bin/activate && pip install -e '.[dev]'",
    `${withSettings} && python -m agent`,
  ],
  go: [`${withSettings} && go run .`],
  java: ['mvn package', `${withSettings} && java -jar target/agent.jar`],
  rust: [`${withSettings} && cargo run`],
};

export async function scaffold(agentId: string, env: Environment, options: ScaffoldOptions): Promise<void> {
  const { language, force = false } = options;
  if (!isUuid(agentId)) throw new Refusal(`${agentId} is not an agent's id, which is a UUID`);
  const out = resolve(options.out);
  // Before anything is asked: the answer could not be used.
  refuseOccupied(out, force);
  const account = accountFrom(env, options);
  const files = await download(account, agentId, language);
  for (const { path, bytes } of files) {
    const file = join(out, path);
    writing(() => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    });
  }
  print(`${files.length} files written to ${options.out}. Next:

  cd ${options.out}
  cp .env.example .env   # and write a client secret of the agent into it
  ${(firstSteps[language] ?? []).join('\n  ')}

README.md says more.`);
}

function refuseOccupied(out: string, force: boolean): void {
  let held: string[] = [];
  try {
    held = readdirSync(out);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new Refusal(`cannot write there: ${message}`);
  }
  if (held.length > 0 && !force)
    throw new Refusal(
      `${out} is not empty; --force writes into it all the same, over files of the same name`,
    );
}

/** Options first, then the environment, then what `dev` has left; each of the three may come from elsewhere. */
function accountFrom(env: Environment, options: ScaffoldOptions): Account {
  const file = join(options.data, 'admin.json');
  const admin = readAdmin(file);
  const account = {
    url: options.url ?? env.COUNTERSIGN_URL ?? admin.baseUrl,
    clientId: options.clientId ?? env.COUNTERSIGN_CLIENT_ID ?? admin.clientId,
    clientSecret: options.clientSecret ?? env.COUNTERSIGN_CLIENT_SECRET ?? admin.clientSecret,
  };
  const { url, clientId, clientSecret } = account;
  if (!url || !clientId || !clientSecret)
    throw new Refusal(
      `no credentials: give --url, --client-id and --client-secret, or COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET, or run it where \`countersign dev\` has written ${file}`,
    );
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new Refusal(`${url} is not the address of a server`);
  return { url: url.replace(/\/+$/, ''), clientId, clientSecret };
}

function readAdmin(file: string): Partial<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

async function download({ url, clientId, clientSecret }: Account, agentId: string, language: string) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const issued = await ask(`${url}/api/v1/token`, { method: 'POST', body: new URLSearchParams(form) });
  const accessToken = tokenIn(issued);
  if (accessToken === undefined) throw new Refusal(`${url} did not answer with an access token`);
  const query = new URLSearchParams({ language });
  const archive = await ask(`${url}/api/v1/sdk/scaffold/${agentId}?${query}`, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const files = await unpack(archive, unpackLimits).catch((error) => {
    throw new Refusal(`${url} did not answer with an archive that can be used: ${quoted(error.message)}`);
  });
  const strange = files.find(({ path }) => !isInside(path));
  if (strange) throw new Refusal(`the archive holds a file with the name "${quoted(strange.path)}"`);
  return files;
}

/** Undefined when there is none that could be put into a header. */
function tokenIn(body: Buffer): string | undefined {
  try {
    const { access_token } = JSON.parse(body.toString());
    return /^[\x21-\x7e]+$/.test(access_token) ? access_token : undefined;
  } catch {
    return undefined;
  }
}

/** Names of ours are plain; whatever is not could lead out of the folder. */
const isInside = (path: string): boolean =>
  path.split('/').every((part) => /^[\w.-]+$/.test(part) && part !== '.' && part !== '..');

async function ask(url: string, init: RequestInit): Promise<Buffer> {
  let response: Response;
  let body: Buffer;
  try {
    response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(answerMs) });
    body = await read(response);
  } catch (error) {
    const { message, cause } = error as Error;
    throw error instanceof Refusal
      ? error
      : new Refusal(
          `cannot reach ${new URL(url).origin}: ${quoted(cause instanceof Error ? cause.message : message)}`,
        );
  }
  if (!response.ok) throw new Refusal(`${new URL(url).origin} answered ${response.status} ${explain(body)}`);
  return body;
}

async function read(response: Response): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > maxResponseBytes)
      throw new Refusal(`the answer of the server is longer than ${maxResponseBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** What the server says, in either of its forms; from something else (a proxy) nothing. */
function explain(body: Buffer): string {
  try {
    const { code, message, error, error_description } = JSON.parse(body.toString());
    return quoted(`${code ?? error}: ${message ?? error_description}`);
  } catch {
    return 'without saying why';
  }
}

function writing(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new Refusal(`cannot write: ${(error as Error).message}`);
  }
}
