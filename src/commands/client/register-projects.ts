import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { addConnectionOptions } from './connection-options.ts';

/** `console` and `scaffold`. */
export function registerProjects(program: Command, io: Io): void {
  addConnectionOptions(
    program
      .command('console')
      .description('print a link that signs you in to the web console of a running server, once'),
  )
    .addHelpText(
      'after',
      '\nThe link signs in the account of this command: `countersign whoami` shows which one it is.',
    )
    .action(async (options) => (await import('./console.ts')).printConsoleLink(io, options));

  addConnectionOptions(
    program
      .command('scaffold')
      .description('download a ready-to-run project for an agent from a running server')
      .argument('<agentId>', 'the agent; id or e-mail address')
      .requiredOption('--out <folder>', 'folder for the project, e.g. ./my-agent; created when missing')
      .option('--language <language>', 'typescript, python, go, java or rust', 'typescript')
      .option(
        '--client-id <id>',
        "client that downloads the project: one of the agent's organization, or an operator (default: COUNTERSIGN_CLIENT_ID, else the profile)",
      )
      .option(
        '--secret-stdin',
        'read the secret of that client from standard input (default: COUNTERSIGN_CLIENT_SECRET, else the profile)',
      )
      .option('--force', 'write into a folder that is not empty, and replace files of the same name'),
  )
    .addHelpText(
      'after',
      '\nExample, with a running dev instance:\n  countersign scaffold screener-1@talent.example.com --language go --out ./my-agent',
    )
    .action(async (agentId, options) => (await import('./scaffold.ts')).scaffold(io, agentId, options));
}
