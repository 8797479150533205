/**
 * The signing secret of `countersign listen`: made once for each server and organization, and kept in the user's own folder, so that a
 * receiver under development can keep it in its settings.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { secretPrefix } from '../../../kernel/delivery/signature.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { readSecretFromInput } from '../../prompt.ts';
import { printError, quoted } from '../../terminal.ts';
import { changePrivateFile, configFolder, readPrivateFile } from '../private-file.ts';

/** As Standard Webhooks recommends: 24 to 64 bytes in base64. */
const secretPattern = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

export async function readSigningSecret(io: Io): Promise<string> {
  if (io.stdin.isTTY)
    throw new CommandError(
      '--secret-stdin reads the secret from standard input: pipe it in, for example from a file or a password manager',
      exitCodes.usage,
    );
  const secret = await readSecretFromInput(io);
  if (secretPattern.test(secret)) return secret;
  throw new CommandError(
    'standard input has no signing secret: it must be whsec_ and then 24 to 64 bytes in base64, as the server makes them',
    exitCodes.usage,
  );
}

/** The stored secret, or a new one. Where it cannot be stored, it serves this run only. */
export async function storedSecret(
  io: Io,
  url: string,
  organizationId: string,
): Promise<{ readonly secret: string; readonly isNew: boolean }> {
  const file = join(configFolder(io), 'listen.json');
  const key = `${url} ${organizationId}`;
  const known = readSecrets(io, file)[key];
  if (known !== undefined) return { secret: known, isNew: false };
  const made = secretPrefix + randomBytes(32).toString('base64');
  let secret = made;
  try {
    await changePrivateFile(io, file, () => {
      const secrets = readSecrets(io, file);
      // Another command may have made one in the meantime.
      secret = secrets[key] ?? made;
      return `${JSON.stringify({ ...secrets, [key]: secret }, null, 2)}\n`;
    });
  } catch (error) {
    printError(io, `the signing secret is for this run only: ${quoted((error as Error).message)}`);
  }
  return { secret, isNew: secret === made };
}

/** A broken file is refused: receivers may use the secrets in it. */
function readSecrets(io: Io, file: string): Record<string, string> {
  const text = readPrivateFile(io, file);
  if (text === undefined) return {};
  try {
    const secrets = JSON.parse(text);
    const isComplete = Object.values<unknown>(secrets).every(
      (secret) => typeof secret === 'string' && secretPattern.test(secret),
    );
    if (isComplete && !Array.isArray(secrets)) return secrets;
  } catch {
    // The same as a file with other values.
  }
  throw new CommandError(
    `${file} holds no signing secrets; repair it, or remove it: a new secret is made then`,
  );
}
