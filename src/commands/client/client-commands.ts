/** The list of all commands that are clients of a server. Each registers itself; its code is imported when it runs. */
import type { Command } from 'commander';
import { registerCompletion } from '../completion/register-completion.ts';
import type { Io } from '../io.ts';
import { helpGroups } from '../program/program.ts';
import { registerRaw } from './api/raw.ts';
import { type RegisterOptions, registerApi } from './api/register-api.ts';
import { registerApply } from './apply/register.ts';
import { registerApprovals } from './approvals/register.ts';
import { registerAuditTail, registerListen } from './events/register.ts';
import { registerImport } from './import/register.ts';
import { registerProfiles } from './profiles/register-profiles.ts';
import { registerProjects } from './register-projects.ts';

export function registerClientCommands(
  program: Command,
  io: Io,
  { words, ...options }: RegisterOptions = {},
): void {
  program.commandsGroup(helpGroups.account);
  registerProfiles(program, io);

  program.commandsGroup(helpGroups.work);
  registerProjects(program, io);
  registerApply(program, io);
  registerImport(program, io);
  registerListen(program, io);
  registerRaw(program, io);

  program.commandsGroup(helpGroups.api);
  const needsAll = words === undefined || words[0] === 'completion';
  registerApi(program, io, needsAll ? options : { ...options, words });

  registerAuditTail(program, io);
  registerApprovals(program, io);

  program.commandsGroup(helpGroups.shell);
  registerCompletion(program, io);
}
