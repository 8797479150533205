/** The command line as a function: arguments, variables and streams → exit code. Each command is one file, imported when it runs. */
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { ConfigProblems, type Environment } from '../kernel/config/config.ts';
import { DatabaseUnavailable, variableOf } from '../kernel/data/db.ts';
import { MigrationProblem } from '../kernel/data/migrations.ts';
import { packageRoot } from '../kernel/package-root.ts';
import { PolicyProblem } from '../kernel/policy.ts';
import { CommandError, exitCodes, Interrupted } from './command-error.ts';
import { createIo, type Streams } from './io.ts';
import { isRefusedByPooler } from './pooler.ts';
import {
  createProgram,
  exitCodeOf,
  expandHelp,
  explainUsage,
  hasShownHelp,
  withoutHelpOfUnknown,
} from './program/program.ts';
import { registerServerCommands, serverOnly } from './program/server-commands.ts';
import { printError } from './terminal.ts';

const { version, description } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));

/** Undefined when a server has started: the process runs on until a signal ends it. */
export async function main(
  argv: readonly string[],
  env: Environment,
  streams: Streams,
): Promise<number | undefined> {
  const io = createIo(env, streams);
  const args = expandHelp(argv);
  const program = createProgram(description, version, io);
  registerServerCommands(program, io);
  if (isClient(argv))
    (await import('./client/client-commands.ts')).registerClientCommands(program, io, { words: args });
  try {
    await program.parseAsync(withoutHelpOfUnknown(args, program), { from: 'user' });
    return io.exitCode;
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    if (error instanceof CommanderError) {
      const exitCode = exitCodeOf(error);
      if (exitCode === exitCodes.usage && !hasShownHelp(error))
        printError(io, explainUsage(error, args, program));
      return exitCode;
    }
    printError(io, explain(error));
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

/** A command that is not of a server alone, or a list of commands. */
export const isClient = (argv: readonly string[]): boolean => !serverOnly.includes(expandHelp(argv)[0] ?? '');

const unannouncedPooler =
  'a pooler in transaction mode does not keep prepared statements: set DATABASE_POOLER=transaction, and remove DATABASE_PREPARED_STATEMENTS';

/** Failures of PostgreSQL that the operator can fix, by SQLSTATE. */
const databaseProblems: Readonly<Record<string, string>> = {
  '25006': 'the database is read-only',
  '26000': unannouncedPooler,
  '28000': 'PostgreSQL refused the user',
  '28P01': 'PostgreSQL refused the user or the password',
  '3D000': 'PostgreSQL has no such database; create it',
  '3F000': 'the search_path of the database or its role names no existing schema',
  '42501': 'the database role lacks a privilege; it must own its tables and may create tables',
  '42P01': 'the database lacks our tables; run `countersign migrate`',
  '42P05': unannouncedPooler,
  '42P07':
    'the database has tables of the same names that are not ours; use a database of its own for Countersign',
};

/** One line for a problem that the operator can fix; a stack for a defect of ours. */
function explain(error: unknown): string {
  const isPlain = [ConfigProblems, MigrationProblem, PolicyProblem, CommandError].some(
    (kind) => error instanceof kind,
  );
  if (isPlain) return `countersign: ${(error as Error).message}`;
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  const { code = '', syscall, message } = (cause ?? {}) as NodeJS.ErrnoException;
  const databaseProblem = databaseProblems[code];
  if (isRefusedByPooler(message))
    return `countersign: a pooler refuses our settings: ${message} (set DATABASE_POOLER=transaction)`;
  const seeVariable = `(see ${variableOf(error)})`;
  if (databaseProblem !== undefined) return `countersign: ${databaseProblem}: ${message} ${seeVariable}`;
  if (error instanceof DatabaseUnavailable) return `countersign: ${error.message} ${seeVariable}`;
  if (syscall !== undefined) return `countersign: ${message}`;
  return error instanceof Error ? `countersign: ${error.stack ?? error.message}` : String(error);
}
