import type { Command } from 'commander';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { printText, quoted } from '../terminal.ts';

/** `completion` */
export function registerCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .summary('print a script with which your shell completes commands')
    .description('Prints a script with which bash, zsh or fish completes commands, options and their values.')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      `
For the present shell:
  bash  source <(countersign completion bash)
  zsh   source <(countersign completion zsh)
  fish  countersign completion fish | source

For every new shell, write it where the shell looks for it:
  bash  countersign completion bash > ~/.local/share/bash-completion/completions/countersign
  zsh   countersign completion zsh > "\${fpath[1]}/_countersign"
  fish  countersign completion fish > ~/.config/fish/completions/countersign.fish`,
    )
    .action(async (shell: string) => {
      const { completionScript, shells } = await import('./completion-scripts.ts');
      const { treeOf } = await import('./command-tree.ts');
      const known = shells.find((one) => one === shell);
      if (!known)
        throw new CommandError(
          `there is no completion for ${quoted(shell)}; there is one for ${shells.join(', ')}`,
          exitCodes.usage,
        );
      printText(io, completionScript(known, treeOf(program)));
    });
}
