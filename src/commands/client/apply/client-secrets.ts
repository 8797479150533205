/**
 * The client secrets of connections. An identity file names the variable or the file that holds one. The server never shows it, so it cannot
 * be compared: it is sent with a new connection or a new client id, and otherwise only on request.
 */
import { resolve } from 'node:path';
import { CommandError } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { inputsOf } from '../api/fields.ts';
import type { SecretSource } from './file/entries.ts';
import type { Problems } from './file/identity-file.ts';

export interface ClientSecrets {
  /** Also those of connections that exist. */
  readonly sendAll: boolean;
  /** An empty text after a problem, which is reported, and for a plan, which sends nothing. */
  read(source: SecretSource, folder: string, at: string): string;
}

export const placeOf = ({ env, file }: SecretSource): string =>
  env === undefined ? `from the file ${file}` : `from the variable ${env}`;

export function createClientSecrets(
  io: Io,
  problems: Problems,
  { plan = false, sendSecrets = false }: { readonly plan?: boolean; readonly sendSecrets?: boolean },
): ClientSecrets {
  const inputs = inputsOf(io);
  return {
    sendAll: sendSecrets,
    read(source, folder, at) {
      const { env, file = '' } = source;
      // The secret of the client that applies the file is not for a provider.
      if (env?.startsWith('COUNTERSIGN_')) {
        problems.add(at, `the variable ${env} is one of this program; use another name`);
        return '';
      }
      if (plan) return '';
      try {
        const secret = env === undefined ? inputs.read(resolve(folder, file)).trim() : (io.env[env] ?? '');
        if (secret === '')
          problems.add(at, `there is no secret in ${env === undefined ? file : `the variable ${env}`}`);
        else if (!/^[ -~]{1,1024}$/.test(secret))
          problems.add(at, `the secret ${placeOf(source)} must be 1 to 1024 printable ASCII characters`);
        return secret;
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        problems.add(at, error.message);
        return '';
      }
    },
  };
}
