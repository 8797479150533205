/** argv → commands. Each command is one file in commands/, imported when it runs. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { CommandError } from './commands/command-error.ts';
import { printError } from './commands/terminal.ts';
import { ConfigProblems } from './kernel/config/config.ts';
import { DatabaseUnavailable } from './kernel/data/db.ts';
import { MigrationProblem } from './kernel/data/migrations.ts';
import { PolicyProblem } from './kernel/policy.ts';

const { version, description } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

const program = new Command('countersign').description(description).version(version).showHelpAfterError();

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
  .action(async (options) => (await import('./commands/dev.ts')).dev(process.env, options));

program
  .command('serve')
  .description(
    'run the server; every setting is an environment variable (docs/reference/configuration.md), and all problems are listed at once',
  )
  .option('--no-worker', 'serve HTTP only; run the background loops elsewhere with `countersign worker`')
  .action(async (options) => (await import('./commands/serve.ts')).serve(process.env, options));

program
  .command('worker')
  .description('run the background loops without HTTP, for servers that run with --no-worker')
  .action(async () => (await import('./commands/worker.ts')).worker(process.env));

program
  .command('migrate')
  .description(
    'apply missing migrations to the database in DATABASE_URL and exit; serve does the same when it starts',
  )
  .action(async () => (await import('./commands/migrate.ts')).migrate(process.env));

program
  .command('bootstrap')
  .description(
    'create the first organization and an operator with every scope, and print its client secret once; needs the variables of serve',
  )
  .option('--json', 'print one JSON object: baseUrl, organizationId, agentId, clientId, clientSecret')
  .option('--force', 'if there is an operator already, create another client secret for it')
  .action(async (options) => (await import('./commands/bootstrap.ts')).bootstrap(process.env, options));

program
  .command('keys')
  .description('create a key pair that signs tokens, and print it as PEM or write it into a folder')
  .option('--kind <kind>', 'rsa (RSA-2048, RS256), p-256 (ES256) or ed25519 (EdDSA)', 'rsa')
  .option(
    '--out <folder>',
    'folder for private.pem and public.pem, e.g. ./keys; created when missing (default: print the keys)',
  )
  .action(async (options) => (await import('./commands/keys.ts')).keys(options));

program
  .command('scaffold')
  .description('download a ready-to-run project for an agent from a running server')
  .argument('<agentId>', 'UUID of the agent')
  .requiredOption('--out <folder>', 'folder for the project, e.g. ./my-agent; created when missing')
  .option('--language <language>', 'typescript, python, go, java or rust', 'typescript')
  .option(
    '--url <address>',
    'address of the server, e.g. https://id.example.com (default: COUNTERSIGN_URL, else the dev instance in --data)',
  )
  .option(
    '--client-id <id>',
    "client that downloads the project: one of the agent's organization, or an operator (default: COUNTERSIGN_CLIENT_ID, else the operator of the dev instance, for its own address only)",
  )
  .option(
    '--client-secret <secret>',
    'secret of that client; other users of the machine can see it here, but not in COUNTERSIGN_CLIENT_SECRET (default: COUNTERSIGN_CLIENT_SECRET, else the operator of the dev instance, for its own address only)',
  )
  .option('--data <folder>', 'data folder of a `countersign dev` instance', '.countersign')
  .option('--force', 'write into a folder that is not empty, and replace files of the same name')
  .addHelpText(
    'after',
    '\nExample, with a running dev instance:\n  countersign scaffold 0192f0c1-7a3e-7c54-9b1d-2f6a8e4d5c3b --language go --out ./my-agent',
  )
  .action(async (agentId, options) =>
    (await import('./commands/scaffold.ts')).scaffold(agentId, process.env, options),
  );

const audit = program.command('audit').description('verify or export the audit log');

audit
  .command('verify')
  .description(
    'verify the hashes, seals and signed checkpoints of the audit log; exit code 1 when it is not intact',
  )
  .argument(
    '[export]',
    'file written by `countersign audit export` (default: verify the log in DATABASE_URL)',
  )
  .option(
    '--checkpoint <file>',
    'file with a checkpoint saved earlier from GET /api/v1/audit/checkpoints; the log must still contain it',
  )
  .option('--organization <id>', 'UUID of the only organization to verify (default: all; database only)')
  .action(async (file, options) =>
    (await import('./commands/audit.ts')).verifyAudit(process.env, { ...options, file }),
  );

audit
  .command('export')
  .description('write the audit log and the evidence to verify it offline, as JSON lines')
  .option('--organization <id>', 'UUID of the only organization to export (default: all)')
  .option('--output <file>', 'file to write, e.g. audit.jsonl (default: standard output)')
  .action(async (options) => (await import('./commands/audit.ts')).exportAudit(process.env, options));

/** Failures of PostgreSQL that the operator can fix, by SQLSTATE. */
const databaseProblems: Readonly<Record<string, string>> = {
  '25006': 'the database is read-only',
  '28000': 'PostgreSQL refused the user',
  '28P01': 'PostgreSQL refused the user or the password',
  '3D000': 'PostgreSQL has no such database; create it',
  '3F000': 'the search_path of the database or its role names no existing schema',
  '42501': 'the database role lacks a privilege; it must own its tables and may create tables',
  '42P01': 'the database lacks our tables; run `countersign migrate`',
  '42P07':
    'the database has tables of the same names that are not ours; use a database of its own for Countersign',
};

try {
  await program.parseAsync();
} catch (error) {
  printError(explain(error));
  process.exit(1);
}

/** One line for a problem that the operator can fix; a stack for a defect of ours. */
function explain(error: unknown): string {
  const isPlain = [ConfigProblems, MigrationProblem, PolicyProblem, CommandError].some(
    (kind) => error instanceof kind,
  );
  if (isPlain) return `countersign: ${(error as Error).message}`;
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  const { code = '', syscall, message } = (cause ?? {}) as NodeJS.ErrnoException;
  const databaseProblem = databaseProblems[code];
  if (databaseProblem !== undefined) return `countersign: ${databaseProblem}: ${message} (see DATABASE_URL)`;
  if (error instanceof DatabaseUnavailable) return `countersign: ${error.message} (see DATABASE_URL)`;
  if (syscall !== undefined) return `countersign: ${message}`;
  return error instanceof Error ? `countersign: ${error.stack ?? error.message}` : String(error);
}
