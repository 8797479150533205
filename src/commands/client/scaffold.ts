/** `countersign scaffold`: downloads an agent's project from a running server and writes it into a folder. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readBytes } from '../../../sdk/typescript/src/response.ts';
import { unpack } from '../../adapters/zip.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { readSecretFromInput } from '../prompt.ts';
import { print, quoted } from '../terminal.ts';
import type { AccountOptions } from './account.ts';
import { type Connection, connect } from './connection.ts';
import { agentKind } from './names/kinds.ts';
import { createIdOf } from './names/resolve.ts';

interface ScaffoldOptions extends AccountOptions {
  readonly language: string;
  readonly out: string;
  readonly force?: boolean;
  /** The client secret comes from standard input. */
  readonly secretStdin?: boolean;
}

/** Several times the size of our largest project. */
const maxArchiveBytes = 1024 * 1024;
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

export async function scaffold(io: Io, agent: string, options: ScaffoldOptions): Promise<void> {
  const { language, force = false } = options;
  const out = resolve(options.out);
  // Before the download, which would be useless.
  requireEmpty(out, force);
  const account = options.secretStdin ? { ...options, clientSecret: await readSecretFromInput(io) } : options;
  const agentId = await createIdOf(io, account)(agentKind, agent);
  const files = await download(connect(io, account), agentId, language);
  for (const { path, bytes } of files) {
    const file = join(out, path);
    withWriteErrors(() => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    });
  }
  print(
    io,
    `${files.length} files written to ${options.out}. Next:

  cd ${options.out}
  cp .env.example .env   # then set the agent's client secret in it
  ${(firstSteps[language] ?? []).join('\n  ')}

README.md explains the project.`,
  );
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

async function download({ url, read }: Connection, agentId: string, language: string) {
  const archive = await read('GET', `/sdk/scaffold/${agentId}`, { query: { language } }, (response) =>
    readBytes(response, maxArchiveBytes),
  );
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

/** Our templates use plain names; other characters could lead out of the folder. */
const isInside = (path: string): boolean =>
  path.split('/').every((part) => /^[\w.-]+$/.test(part) && part !== '.' && part !== '..');

function withWriteErrors(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new CommandError(`cannot write: ${(error as Error).message}`);
  }
}
