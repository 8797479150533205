/** `countersign keys`: creates a signing key pair and prints it or writes it into a folder. */
import { createPublicKey } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describePublicKey } from '../../adapters/keys/keys.ts';
import { generateKeyPair, type KeyKind, keyKinds } from '../../kernel/config/keypair.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, printError } from '../terminal.ts';

export async function keys(io: Io, { out, kind }: { out?: string; kind: string }): Promise<void> {
  if (!isKeyKind(kind))
    throw new CommandError(`--kind must be one of ${keyKinds.join(', ')}, not ${JSON.stringify(kind)}`);
  if (out !== undefined) return writeKeys(io, out, kind);
  const { privatePem, publicPem } = generateKeyPair(kind);
  io.stdout.write(privatePem + publicPem);
  printError(
    io,
    'Set JWT_PRIVATE_KEY to the first block and JWT_PUBLIC_KEY to the second. Or store each in a file, and set JWT_PRIVATE_KEY_FILE and JWT_PUBLIC_KEY_FILE to the paths.',
  );
}

const isKeyKind = (text: string): text is KeyKind => (keyKinds as readonly string[]).includes(text);

async function writeKeys(io: Io, folder: string, kind: KeyKind): Promise<void> {
  const privateFile = join(folder, 'private.pem');
  const publicFile = join(folder, 'public.pem');
  // Check both before writing, so that the halves of two pairs never lie in one folder.
  for (const file of [privateFile, publicFile]) if (existsSync(file)) refuseOverwriting(file);
  const { privatePem, publicPem } = generateKeyPair(kind);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeNew(privateFile, privatePem, 0o600);
    writeNew(publicFile, publicPem, 0o644);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot write the keys: ${(error as Error).message}`);
  }
  const { kid, alg } = await describePublicKey(createPublicKey(publicPem));
  print(
    io,
    [
      `JWT_PRIVATE_KEY_FILE  ${privateFile}`,
      `JWT_PUBLIC_KEY_FILE   ${publicFile}`,
      `key id (kid)          ${kid}`,
      `algorithm (alg)       ${alg}`,
    ].join('\n'),
  );
}

/** `wx` refuses a file or link that appeared since the check. The umask must not narrow or widen the mode. */
function writeNew(file: string, pem: string, mode: number): void {
  try {
    writeFileSync(file, pem, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') refuseOverwriting(file);
    throw error;
  }
  chmodSync(file, mode);
}

function refuseOverwriting(file: string): never {
  throw new CommandError(`${file} already exists and is not overwritten; choose another folder with --out`);
}
