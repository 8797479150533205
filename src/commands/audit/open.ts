/** Opens the audit log in the database of the environment. */
import { openAudit } from '../../audit-app.ts';
import type { ArchiveSettings } from '../../kernel/config/archive.ts';
import { loadDirectDatabase, loadVariable } from '../../kernel/config/config.ts';
import { keysMatch } from '../../kernel/config/keypair.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';

export function openDatabaseLog({ env }: Io, archive?: ArchiveSettings) {
  const signingKeys = {
    privateKey: loadVariable('jwtPrivateKey', env),
    publicKey: loadVariable('jwtPublicKey', env),
  };
  if (!keysMatch(signingKeys))
    throw new CommandError('JWT_PRIVATE_KEY and JWT_PUBLIC_KEY do not belong together');
  return openAudit({
    database: loadDirectDatabase(env),
    signingKeys,
    previousPublicKeys: loadVariable('jwtPreviousPublicKeys', env) ?? [],
    issuer: loadVariable('baseUrl', env) ?? `http://localhost:${loadVariable('port', env)}`,
    witnesses: loadVariable('auditWitnesses', env),
    archive,
    // Findings are printed on standard output; the log would repeat them.
    log: createLog({ level: 'silent' }),
  });
}
