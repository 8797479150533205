/** The commands and options of the program as plain data, for shell completion and for the reference page. */
import type { Command, Option } from 'commander';

interface TreeOption {
  /** `--status` */
  readonly flag: string;
  readonly description: string;
  readonly takesValue: boolean;
  readonly takesFile: boolean;
  readonly choices: readonly string[];
}

export interface TreeCommand {
  /** The words after `countersign`; none for the program itself. */
  readonly path: readonly string[];
  /** `<agentId>` */
  readonly args: readonly string[];
  readonly summary: string;
  readonly options: readonly TreeOption[];
  readonly commands: readonly TreeCommand[];
  readonly isDefault: boolean;
}

export function treeOf(command: Command, path: readonly string[] = []): TreeCommand {
  const help = command.createHelp();
  const inner = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  return {
    path,
    args: command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
    summary: command.summary() || command.description(),
    options: help
      .visibleOptions(command)
      .filter(({ long }) => long !== undefined)
      .map(optionOf),
    commands: inner.map((one) => treeOf(one, [...path, one.name()])),
    isDefault:
      (command.parent as { _defaultCommandName?: string } | null)?._defaultCommandName === command.name(),
  };
}

const optionOf = ({
  long,
  flags,
  description,
  required,
  optional,
  argChoices,
  negate,
}: Option): TreeOption => ({
  flag: long ?? '',
  description,
  takesValue: (required || optional) && !negate,
  takesFile: /<(file|folder)>/.test(flags),
  choices: argChoices ?? [],
});

/** The command and all below it. */
export const withDescendants = (command: TreeCommand): TreeCommand[] => [
  command,
  ...command.commands.flatMap(withDescendants),
];
