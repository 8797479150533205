/** The commands that run a server or work on its database. Each is imported when it runs. */
import type { Command } from 'commander';
import { registerDoctor } from '../doctor/register.ts';
import type { Io } from '../io.ts';
import { helpGroups } from './program.ts';

/** These need no client command, so commands/main.ts does not load them: a server starts faster. */
export const serverOnly: readonly string[] = [
  'dev',
  'serve',
  'worker',
  'migrate',
  'bootstrap',
  'keys',
  'rotate-encryption-key',
  'doctor',
  'witness',
];

/** Beside `dev`, the variables of a server are those of its instance. */
const developmentData = [
  '--data <folder>',
  'data folder of a `countersign dev` instance that you trust, when the variables of a server are not set: its database is started (default: .countersign, after you have run `countersign dev` there)',
] as const;

const examples = (...lines: readonly string[]): string =>
  `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;

const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value];

export function registerServerCommands(program: Command, io: Io): void {
  program.commandsGroup(helpGroups.server);

  program
    .command('dev')
    .description(
      'try Countersign on this machine: starts an embedded PostgreSQL and a server with generated keys, and prints the credentials of an operator',
    )
    .option('--port <number>', 'port to listen on (default: the variable PORT, else 3000)')
    .option(
      '--data <folder>',
      "folder for the database, the keys and the operator's credentials; created when missing",
      '.countersign',
    )
    .action(async (options) => (await import('../dev.ts')).dev(io, options));

  program
    .command('serve')
    .description(
      'run the server; every setting is an environment variable (docs/reference/configuration.md), and all problems are listed at once',
    )
    .option('--no-worker', 'serve HTTP only; run the background loops elsewhere with `countersign worker`')
    .action(async (options) => (await import('../serve.ts')).serve(io, options));

  program
    .command('worker')
    .description(
      'run the background loops, for servers that run with --no-worker; over HTTP only probes and metrics, on WORKER_PORT',
    )
    .action(async () => (await import('../worker.ts')).worker(io));

  program
    .command('migrate')
    .description(
      'apply missing migrations to the database in DATABASE_URL and exit; serve does the same when it starts',
    )
    .action(async () => (await import('../migrate.ts')).migrate(io));

  program
    .command('bootstrap')
    .description(
      'create the first organization and an operator with every scope, and print its client secret once; needs the variables of serve',
    )
    .option('--json', 'print one JSON object: baseUrl, organizationId, agentId, clientId, clientSecret')
    .option('--force', 'if there is an operator already, create another client secret for it')
    .action(async (options) => (await import('../bootstrap.ts')).bootstrap(io, options));

  program
    .command('keys')
    .description('create a key pair that signs tokens, and print it as PEM or write it into a folder')
    .option('--kind <kind>', 'rsa (RSA-2048, RS256), p-256 (ES256) or ed25519 (EdDSA)', 'rsa')
    .option(
      '--out <folder>',
      'folder for private.pem and public.pem, e.g. ./keys; created when missing (default: print the keys)',
    )
    .addHelpText('after', examples('countersign keys --kind ed25519 --out ./keys'))
    .action(async (options) => (await import('../keys/keys.ts')).keys(io, options));

  program
    .command('witness')
    .description(
      "cosign the checkpoints of other instances' audit logs, so that none of them can show two histories; prints its own verifier key",
    )
    .requiredOption('--state <file>', 'what it has cosigned; never go back to an older copy of it')
    .requiredOption('--key <file>', 'its private key of Ed25519 (PKCS#8 PEM); created when missing')
    .requiredOption('--name <name>', 'its name in cosignatures, e.g. witness.example.com')
    .requiredOption('--log <verifier-key...>', 'a log to cosign, as GET /log/key of an instance names it')
    .option('--port <number>', 'port to listen on', '8787')
    .option('--host <address>', 'address to listen on; put a proxy with TLS before it', '127.0.0.1')
    .action(async (options) => (await import('../witness/witness.ts')).witness(io, options));

  program
    .command('rotate-encryption-key')
    .description(
      'encrypt all stored secrets with DATA_ENCRYPTION_KEY, while servers run; it can be stopped and run again. DATA_ENCRYPTION_PREVIOUS_KEYS lists the earlier keys; needs the variables of serve',
    )
    .option('--dry-run', 'count the rows by key, and change nothing')
    .option(
      '--check',
      'count the rows by key, and exit with 1 if a row is not encrypted with DATA_ENCRYPTION_KEY',
    )
    .option('--skip-unreadable', 'leave out rows whose key is lost, instead of refusing')
    .action(async (options) =>
      (await import('../keys/rotate-encryption-key.ts')).rotateEncryptionKey(io, options),
    );

  registerDoctor(program, io);

  const audit = program.command('audit').description('verify or export the audit log');

  withWitnesses(audit.command('verify'))
    .description(
      'verify the hashes, seals and signed checkpoints of the audit log; exit code 1 when it is not intact',
    )
    .argument(
      '[export]',
      'file written by `countersign audit export`, or of the archive (.jsonl.zst) (default: verify the log in DATABASE_URL, or of `countersign dev` in --data)',
    )
    .option(
      '--checkpoint <file>',
      'file with a checkpoint saved earlier from GET /api/v1/audit/checkpoints; the log must still contain it',
    )
    .option(
      '--organization <name>',
      'id, slug or name of the only organization to verify (default: all; database only)',
    )
    .option(
      '--keys <file>',
      'JWKS with the public keys of the instance, from /.well-known/jwks.json (default: JWT_PUBLIC_KEY; export only)',
    )
    .option(
      '--log-checkpoint <file>',
      'checkpoint saved earlier from GET /log/checkpoint; the log must contain it',
    )
    .option(
      '--log-url <url>',
      'address of the log, e.g. https://id.example.com/log; what it serves must contain the checkpoints (export only)',
    )
    .option(...developmentData)
    .addHelpText(
      'after',
      examples(
        'countersign audit verify',
        'countersign audit verify --organization talent',
        'countersign audit verify audit.jsonl --keys jwks.json',
      ),
    )
    .action(async (file, options) => (await import('../audit.ts')).verifyAudit(io, { ...options, file }));

  audit
    .command('export')
    .description('write the audit log and the evidence to verify it offline, as JSON lines')
    .option('--organization <name>', 'id, slug or name of the only organization to export (default: all)')
    .option('--output <file>', 'file to write, e.g. audit.jsonl (default: standard output)')
    .option(...developmentData)
    .addHelpText('after', examples('countersign audit export --organization talent --output audit.jsonl'))
    .action(async (options) => (await import('../audit.ts')).exportAudit(io, options));

  registerArchive(audit, io);
}

/** What the instance log must prove. */
const withWitnesses = (command: Command): Command =>
  command
    .option(
      '--log-key <key>',
      'verifier key of the instance log, from GET /log/key, or a file with it; the log must have what is verified',
    )
    .option(
      '--witness <key>',
      'verifier key of a witness that must have cosigned the log, or a file with such keys or in the form of AUDIT_WITNESSES; repeatable',
      collect,
    )
    .option('--quorum <number>', 'how many of the witnesses are enough (default: all)');

/** Where the archive is; the variables of the server otherwise. */
const withPlace = (command: Command): Command =>
  command
    .option('--url <url>', 's3://bucket/prefix or file:///folder (default: AUDIT_ARCHIVE_URL)')
    .option('--endpoint <url>', 'S3 server that is not that of AWS (default: AUDIT_ARCHIVE_ENDPOINT)')
    .option('--region <name>', 'region of the bucket (default: AUDIT_ARCHIVE_REGION)');

const withDays = (command: Command): Command =>
  withPlace(command)
    .option(
      '--organization <name>',
      'id of the only organization, or its slug or name, which the server of `countersign login` looks up (default: all)',
    )
    .option('--from <day>', 'first day, e.g. 2030-01-31')
    .option('--to <day>', 'last day');

function registerArchive(audit: Command, io: Io): void {
  const archive = audit
    .command('archive')
    .description(
      'read and verify the archive of the audit log, without the server and its database; or write it',
    );

  withDays(archive.command('list'))
    .description('list the archived days, as their manifests describe them')
    .option('--json', 'print one manifest a line')
    .addHelpText(
      'after',
      examples('countersign audit archive list --url s3://audit-archive/eu --from 2030-01-01'),
    )
    .action(async (options) => (await import('../audit/archive.ts')).listArchive(io, options));

  withPlace(archive.command('get'))
    .description('download the file of one day, and compare it with its manifest')
    .argument('<day>', 'day, e.g. 2030-01-31')
    .requiredOption(
      '--organization <name>',
      'id of the organization, or its slug or name, which the server of `countersign login` looks up',
    )
    .option(
      '--output <file>',
      'file to write, or - for standard output (default: audit-<organization>-<day>.jsonl.zst)',
    )
    .addHelpText(
      'after',
      examples('countersign audit archive get 2030-01-31 --organization talent --output day.jsonl.zst'),
    )
    .action(async (day, options) => (await import('../audit/archive.ts')).getArchive(io, day, options));

  withWitnesses(withDays(archive.command('verify')))
    .description(
      'verify each archived file, that it is the one of its manifest, and that each day continues the chain of the day before; exit code 1 when something is not intact',
    )
    .option(
      '--keys <file>',
      'JWKS with the public keys of the instance, from /.well-known/jwks.json (default: JWT_PUBLIC_KEY)',
    )
    .action(async (options) => (await import('../audit/archive.ts')).verifyArchiveFiles(io, options));

  withPlace(archive.command('run'))
    .description(
      'archive the days that are over and are not archived; a server does the same every minute. Needs the database and the keys of the servers',
    )
    .action(async (options) => (await import('../audit/archive-run.ts')).runArchive(io, options));
}
