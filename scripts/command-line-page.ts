/** docs/reference/command-line.md: one line per command, from the same tree as the help and the shell completion. */

import { shortcuts, withoutCommand } from '../src/commands/client/api/command-names.ts';
import { operationsOf } from '../src/commands/client/api/document.ts';
import { registerClientCommands } from '../src/commands/client/client-commands.ts';
import { type TreeCommand, treeOf, withDescendants } from '../src/commands/completion/command-tree.ts';
import { createIo } from '../src/commands/io.ts';
import { createProgram } from '../src/commands/program/program.ts';
import { registerServerCommands } from '../src/commands/program/server-commands.ts';

export function commandLinePage(notice: string, document: object): string {
  // Nothing runs, and nothing is printed.
  const { stdin, stdout, stderr } = process;
  const io = createIo({}, { stdin, stdinDescriptor: 0, stdout, stderr, onSignal: () => () => {}, exit() {} });
  const program = createProgram('', '', io);
  const operations = operationsOf(document as Parameters<typeof operationsOf>[0]);
  registerServerCommands(program, io);
  registerClientCommands(program, io, { operations });
  const helpGroups = new Map(program.commands.map((command) => [command.name(), command.helpGroup()]));
  const sections = Map.groupBy(treeOf(program).commands, ({ path }) => helpGroups.get(path[0] ?? '') ?? '');
  return [
    notice,
    '# Command line',
    '',
    'All commands of `countersign`. `countersign COMMAND --help` lists the options of one, with an example. [Work in a',
    'terminal](../guides/command-line.md) explains profiles, output and exit codes.',
    '',
    ...[...sections].flatMap(([title, commands]) => section(title, commands)),
    '## Operations without a command',
    '',
    '| Operation | Why |',
    '|---|---|',
    ...Object.entries(withoutCommand).map(([operation, reason]) => `| \`${operation}\` | ${reason} |`),
    '',
    `${shortcuts.map(({ name }) => `\`${name.group} ${name.verb}\``).join(', ')} are short forms of \`update\`.`,
    '',
  ].join('\n');
}

function section(title: string, commands: readonly TreeCommand[]): string[] {
  const leaves = commands.flatMap(withDescendants).filter((command) => command.commands.length === 0);
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  return [
    `## ${title.replace(/ \(.*$|:$/g, '')}`,
    '',
    '| Command | Effect |',
    '|---|---|',
    ...leaves.map(({ path, args, summary }) => `| \`${[...path, ...args].join(' ')}\` | ${cell(summary)} |`),
    '',
  ];
}
