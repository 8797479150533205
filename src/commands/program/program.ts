/** The root of all commands: how they report wrong usage, and how their help looks. */
import { Command, type CommanderError } from 'commander';
import { exitCodes } from '../command-error.ts';
import type { Io, Output } from '../io.ts';

export const helpGroups = {
  server: 'Run a server:',
  account: 'Sign in:',
  work: 'Work with a server:',
  api: 'Operations of the API (each has --help):',
  shell: 'More:',
} as const;

export function createProgram(description: string, version: string, io: Io): Command {
  return (
    new Command('countersign')
      .description(description)
      .version(version)
      // Commander would exit with 1, also for wrong usage.
      .exitOverride()
      .helpOption('-h, --help', 'show this help')
      .addHelpCommand(
        new Command('help')
          .argument('[command]')
          .description('show the help of a command')
          .helpGroup(helpGroups.shell),
      )
      // `agents create --version` is a field of the agent, not the version of this program.
      .enablePositionalOptions()
      // commands/main.ts prints the reason.
      .configureOutput({
        outputError: () => {},
        writeOut: (text) => void io.stdout.write(text),
        writeErr: (text) => void io.stderr.write(text),
        // Undefined counts as 80 columns.
        getOutHelpWidth: () => widthOf(io.stdout) as number,
        getErrHelpWidth: () => widthOf(io.stderr) as number,
      })
      .configureHelp({
        showGlobalOptions: false,
        sortSubcommands: false,
        commandDescription: (command) => sentenceOf(command.description()),
      })
  );
}

const widthOf = ({ isTTY, columns }: Output) => (isTTY ? columns : undefined);

/** Descriptions are also lines of the list of commands, where they have no capital letter and no full stop. */
const sentenceOf = (text: string): string =>
  text && `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? '' : '.'}`;

/** `help agents list` is `agents list --help`: commander's own help command takes one word. */
export const expandHelp = (args: readonly string[]): readonly string[] =>
  args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;

/** For a word that is none of its commands, a group would show its own help. Without `--help`, commander names the mistake. */
export function withoutHelpOfUnknown(args: readonly string[], program: Command): readonly string[] {
  const command = commandOf(args, program);
  const word = args[depthOf(command)];
  const isUnknown = command.commands.length > 0 && word !== undefined && /^[^-]/.test(word);
  return isUnknown && word !== 'help' ? args.filter((arg) => arg !== '--help' && arg !== '-h') : args;
}

export const exitCodeOf = ({ exitCode }: CommanderError): number => (exitCode === 0 ? 0 : exitCodes.usage);

/** A group without a verb: the help is the explanation. */
export const hasShownHelp = ({ code }: CommanderError): boolean => code === 'commander.help';

/** One line: the problem, the nearest right word, and where the right usage is described. */
export function explainUsage({ message }: CommanderError, args: readonly string[], program: Command): string {
  const command = commandOf(args, program);
  const problem = (secretProblem(message, command) ?? message)
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)/, '; did you mean $1?');
  return `countersign: ${problem}${/[.?]$/.test(problem) ? '' : '.'} See ${pathOf(command)} --help`;
}

/** An option that does not exist, because other users of the machine could see its value. Commander repeats the value. */
function secretProblem(message: string, command: Command): string | undefined {
  const [, name = ''] = /^error: unknown option '(--[\w-]+)/.exec(message) ?? [];
  const has = (option: string) => command.options.some(({ long }) => long === option);
  const file = `${name}-file`;
  const remedy = has(file)
    ? `give ${file} with a file that holds it, or with - for standard input`
    : name === '--client-secret' && has('--secret-stdin')
      ? 'write it to standard input, and give --secret-stdin'
      : undefined;
  return remedy && `there is no option ${name}, since others could see its value: ${remedy}`;
}

/** The command that the words name, as far as they name one. */
function commandOf(args: readonly string[], program: Command): Command {
  let command = program;
  for (const arg of args) {
    const next = command.commands.find((one) => one.name() === arg || one.aliases().includes(arg));
    if (!next) break;
    command = next;
  }
  return command;
}

const depthOf = (command: Command): number => (command.parent ? 1 + depthOf(command.parent) : 0);

/** `countersign profiles use` */
export const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
