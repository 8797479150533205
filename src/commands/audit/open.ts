/** Opens the audit log in the database of the environment. */
import { openAudit } from '../../audit-app.ts';
import type { ArchiveSettings } from '../../kernel/config/archive.ts';
import { loadDirectDatabase, loadVariable } from '../../kernel/config/config.ts';
import { keysMatch } from '../../kernel/config/keypair.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { CommandError } from '../command-error.ts';
import { findDevelopmentInstance } from '../development-instance.ts';
import type { Io } from '../io.ts';

/** Without an archive: the log of `dev` in `data`, or in the default folder, when the environment names no server. */
export async function openDatabaseLog(
  io: Io,
  { data, archive }: { readonly data?: string | undefined; readonly archive?: ArchiveSettings },
) {
  const development = archive ? undefined : findDevelopmentInstance(io, data);
  const { env } = development ?? io;
  const signingKeys = {
    privateKey: loadVariable('jwtPrivateKey', env),
    publicKey: loadVariable('jwtPublicKey', env),
  };
  if (!keysMatch(signingKeys))
    throw new CommandError('JWT_PRIVATE_KEY and JWT_PUBLIC_KEY do not belong together');
  const postgres = await development?.openDatabase();
  try {
    const audit = await openAudit({
      database: loadDirectDatabase(postgres ? { ...env, DATABASE_URL: postgres.url } : env),
      signingKeys,
      previousPublicKeys: loadVariable('jwtPreviousPublicKeys', env) ?? [],
      issuer: loadVariable('baseUrl', env) ?? `http://localhost:${loadVariable('port', env)}`,
      witnesses: loadVariable('auditWitnesses', env),
      archive,
      // Findings are printed on standard output; the log would repeat them.
      log: createLog({ level: 'silent' }),
    });
    return { ...audit, close: () => audit.close().finally(() => postgres?.stop()) };
  } catch (error) {
    await postgres?.stop();
    throw error;
  }
}
