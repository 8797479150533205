/** `countersign apply` and `countersign export`: their options and help. */
import type { Command } from 'commander';
import type { Io } from '../../io.ts';
import { addConnectionOptions } from '../connection-options.ts';

const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value];

export function registerApply(program: Command, io: Io): void {
  addConnectionOptions(
    program
      .command('apply')
      .description(
        'make a server match a file: creates and changes organizations, agents, connections, roles of people, APIs, grants, trust policies and webhooks',
      )
      .requiredOption(
        '-f, --file <path>',
        'identity file, folder with such files, or - for standard input; may be repeated',
        collect,
      )
      .option(
        '--plan',
        'show the difference and change nothing; exit code 0 without a difference, 7 with one',
      )
      .option('--prune', 'also delete what the file does not have, in its organizations and of its kinds')
      .option('--yes', 'do not ask; needed without a terminal')
      .option(
        '--secrets-to <file>',
        'write the secrets of new webhooks to a new file with mode 0600, not to the output',
      )
      .option('--send-secrets', 'also send the client secrets of connections that exist, for a new secret')
      .option('--json', 'print one JSON object with the changes'),
  )
    .addHelpText('after', applyHelp)
    .action(async (options) => (await import('./apply.ts')).apply(io, options));

  addConnectionOptions(
    program
      .command('export')
      .description('write the state of a server as an identity file for `countersign apply`')
      .option('-f, --file <path>', 'new file to write (default: standard output)')
      .option(
        '--organization <name>',
        'slug, name or id (default: that of the client); may be repeated',
        collect,
      )
      .option('--force', 'replace the file if it exists'),
  )
    .addHelpText('after', exportHelp)
    .action(async (options) => (await import('./export.ts')).exportState(io, options));
}

const applyHelp = `
The client of the file is that of the profile, or of COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET. Fields that an entry leaves out
are not changed. A second run of the same file changes nothing. docs/guides/configuration-as-code.md describes the format.

--prune decommissions agents, which cannot be undone. It never ends the client itself, its organization, or an operator.

Examples:
  countersign apply -f identity.yaml --plan
  countersign apply -f identity/ --prune --plan
  generate-identities | countersign apply -f - --yes`;

const exportHelp = `
The file holds no secrets of Countersign. The URLs of webhooks can hold secrets of their receivers.

Example:
  countersign export -f identity.yaml && countersign apply -f identity.yaml --plan`;
