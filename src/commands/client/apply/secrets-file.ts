/** Secrets that the server shows once: printed, or written to a new file that only its owner can read. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { CommandError } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, quoted } from '../../terminal.ts';
import type { CreatedSecret } from './change.ts';

export interface SecretSink {
  /** Of the file, if there is one. */
  readonly path?: string;
  readonly keep: (secret: CreatedSecret) => void;
  /** Those that were neither printed nor written yet. */
  readonly kept: readonly CreatedSecret[];
  close(): void;
}

/** Opened before the first change: a secret that cannot be stored would be lost. */
export function openSecretSink(io: Io, path: string | undefined, json: boolean): SecretSink {
  if (path !== undefined) return openFile(io, path);
  const kept: CreatedSecret[] = [];
  const keep = (secret: CreatedSecret) => {
    if (json) kept.push(secret);
    else printSecret(io, secret);
  };
  return { keep, kept, close() {} };
}

const printSecret = (io: Io, { name, id, signingSecret }: CreatedSecret): void =>
  print(io, `webhook ${quoted(name)} (${id}): signing secret ${signingSecret}   shown this once`);

function openFile(io: Io, path: string): SecretSink {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(
      code === 'EEXIST'
        ? `${path} exists; name a new file for the secrets, so that none is overwritten`
        : `cannot write the secrets: ${message}`,
    );
  }
  return {
    path,
    keep: (secret) => {
      try {
        writeSync(file, `${JSON.stringify(secret)}\n`);
      } catch (error) {
        // The server does not show it again.
        printError(io, `cannot write to ${path}: ${(error as Error).message}; the secret is printed instead`);
        printSecret(io, secret);
      }
    },
    kept: [],
    close: () => closeSync(file),
  };
}
