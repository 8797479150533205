/** A required secret without its option is asked for on a terminal, which does not show it. */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { askSecret, hasTerminal } from '../../prompt.ts';
import type { ApiCommand } from './api-commands.ts';
import { type Inputs, inputsOf } from './fields.ts';

interface Complete {
  /** By flag, without the two hyphens. */
  readonly options: ReadonlyMap<string, unknown>;
  readonly inputs: Inputs;
}

export async function askForSecret(
  io: Io,
  { fields }: ApiCommand,
  options: ReadonlyMap<string, unknown>,
): Promise<Complete> {
  const inputs = inputsOf(io);
  const missing = fields.filter(({ isRequired, flag }) => isRequired && !options.has(flag));
  const [secret] = missing;
  // Another option that is missing is reported first. A body may hold the secret.
  if (secret?.kind !== 'secret' || missing.length > 1 || options.has('body') || !hasTerminal(io))
    return { options, inputs };
  const what = secret.flag.replace(/-file$/, '').replaceAll('-', ' ');
  const typed = await askSecret(io, `${what} (not shown): `);
  if (typed === '') throw new CommandError(`the ${what} is missing`, exitCodes.usage);
  // In place of standard input, which is the terminal.
  const read = (path: string) => (path === '-' ? typed : inputs.read(path));
  return { options: new Map([...options, [secret.flag, '-']]), inputs: { read } };
}
