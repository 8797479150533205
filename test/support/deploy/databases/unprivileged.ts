/** Programs that refuse to run as root, as PostgreSQL and PgBouncer do. */
import { chownSync } from 'node:fs';
import { type Program, startProgram } from '../../programs.ts';

/** The id of the user without rights on Debian. */
const user = 65_534;

/** Only root can start programs as another user, or give files to one. */
export const isRoot = (): boolean => process.getuid?.() === 0;

/** As this user, unless it is root. */
export function startUnprivileged(command: string, args: readonly string[], cwd: string): Program {
  const wrapper = isRoot() ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'] : ['env'];
  const [first = '', ...rest] = [...wrapper, command, ...args];
  return startProgram(first, rest, { env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }, cwd });
}

/** Such a program then owns the file or folder. */
export function chownToUnprivileged(path: string): void {
  if (isRoot()) chownSync(path, user, user);
}
