/** argv → commands. Each command is one file in commands/, loaded only when it is asked for. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { Refusal } from './commands/refusal.ts';
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
  .description('try it: embedded PostgreSQL, no Redis, generated keys, an operator ready to use')
  .option('--port <number>', 'port to listen on (default: PORT, else 3000)')
  .option('--data <folder>', 'where everything is kept', '.countersign')
  .action(async (options) => (await import('./commands/dev.ts')).dev(process.env, options));

program
  .command('serve')
  .description('run in production, configured by the environment alone (docs/reference/configuration.md)')
  .option('--no-worker', 'HTTP only; run the background loops apart with `countersign worker`')
  .action(async (options) => (await import('./commands/serve.ts')).serve(process.env, options));

program
  .command('worker')
  .description('run the background loops alone')
  .action(async () => (await import('./commands/worker.ts')).worker(process.env));

program
  .command('migrate')
  .description('bring the database up to date and exit (serve does it at start, too)')
  .action(async () => (await import('./commands/migrate.ts')).migrate(process.env));

program
  .command('bootstrap')
  .description('create the first organization and an operator that holds every scope; prints its secret once')
  .option('--json', 'print JSON')
  .option('--force', 'although there is an operator: give it one more credential')
  .action(async (options) => (await import('./commands/bootstrap.ts')).bootstrap(process.env, options));

program
  .command('keys')
  .description('print a new RSA-2048 signing key pair as PEM, or write it into a folder')
  .option('--out <folder>', 'write private.pem and public.pem there, and print the paths and the key id')
  .action(async (options) => (await import('./commands/keys.ts')).keys(options));

program
  .command('scaffold <agentId>')
  .description("write a project for an agent, ready to run, from a running server's template")
  .requiredOption('--out <folder>', 'where to')
  .option('--language <language>', 'typescript, python, go, java or rust', 'typescript')
  .option('--url <address>', 'the server (default: COUNTERSIGN_URL, else that of a dev instance)')
  .option('--client-id <id>', 'who asks (default: COUNTERSIGN_CLIENT_ID, else the dev operator)')
  .option(
    '--client-secret <secret>',
    'with which secret (default: COUNTERSIGN_CLIENT_SECRET, which other users of the machine cannot see)',
  )
  .option('--data <folder>', 'where a dev instance keeps everything', '.countersign')
  .option('--force', 'although the folder is not empty')
  .action(async (agentId, options) =>
    (await import('./commands/scaffold.ts')).scaffold(agentId, process.env, options),
  );

const audit = program.command('audit').description('check the audit log, or take it elsewhere');

audit
  .command('verify [export]')
  .description('verify chain and checkpoints, in the database or, given a file, in an export')
  .option('--checkpoint <file>', 'a checkpoint that was kept elsewhere, which must be part of the log')
  .option('--organization <id>', 'this organization only, in the database')
  .action(async (file, options) =>
    (await import('./commands/audit.ts')).verifyAudit(process.env, { ...options, file }),
  );

audit
  .command('export')
  .description('write the log with all its evidence as JSON lines')
  .option('--organization <id>', 'this organization only')
  .option('--output <file>', 'where to (default: standard output)')
  .action(async (options) => (await import('./commands/audit.ts')).exportAudit(process.env, options));

/** By SQLSTATE: what a database says that is not, or not yet, one of ours. */
const foreignDatabase: Readonly<Record<string, string>> = {
  '3F000': 'no schema in the search_path of the database or its role exists',
  '42501': 'the database role may not do what we need; it has to own its tables and create more',
  '42P01': 'the database lacks our tables; `countersign migrate` makes them',
  '42P07': 'the database has tables of the same names that are not ours; give us one of our own',
};

try {
  await program.parseAsync();
} catch (error) {
  printError(explain(error));
  process.exit(1);
}

/** What an operator did or can mend gets one plain line; only a defect of ours shows its stack. */
function explain(error: unknown): string {
  const plain = [ConfigProblems, MigrationProblem, PolicyProblem, Refusal].some(
    (kind) => error instanceof kind,
  );
  if (plain) return `countersign: ${(error as Error).message}`;
  if (error instanceof DatabaseUnavailable)
    return `countersign: cannot start: ${error.message} (see DATABASE_URL)`;
  const { code = '', syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall !== undefined) return `countersign: ${message}`;
  const wrongDatabase = foreignDatabase[code];
  if (wrongDatabase !== undefined) return `countersign: ${wrongDatabase}: ${message} (see DATABASE_URL)`;
  return error instanceof Error ? `countersign: ${error.stack ?? error.message}` : String(error);
}
