/** The list of all commands that are clients of a server. Each registers itself; its code is imported when it runs. */
import type { Command } from 'commander';
import { registerCompletion } from '../completion/register-completion.ts';
import { helpGroups } from '../program/program.ts';
import { registerRaw } from './api/raw.ts';
import { type RegisterOptions, registerApi } from './api/register-api.ts';
import { registerApply } from './apply/register.ts';
import { registerAuditTail, registerListen } from './events/register.ts';
import { registerProfiles } from './profiles/register-profiles.ts';
import { registerProjects } from './register-projects.ts';

export function registerClientCommands(program: Command, { words, ...options }: RegisterOptions = {}): void {
  endWithReader();
  program.commandsGroup(helpGroups.account);
  registerProfiles(program);

  program.commandsGroup(helpGroups.work);
  registerProjects(program);
  registerApply(program);
  registerListen(program);
  registerRaw(program);

  program.commandsGroup(helpGroups.api);
  const needsAll = words === undefined || words[0] === 'completion';
  registerApi(program, needsAll ? options : { ...options, words });

  registerAuditTail(program);

  program.commandsGroup(helpGroups.shell);
  registerCompletion(program);
}

/** `countersign audit list --all | head` is no failure. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}
