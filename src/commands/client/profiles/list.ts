/** `countersign profiles`: which profiles there are, and which one is current. Never a secret. */
import type { Environment } from '../../../kernel/config/config.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import { print, printError, printJson, quoted } from '../../terminal.ts';
import { changeProfiles, readProfiles } from './profiles.ts';

interface ProfileRow {
  readonly name: string;
  readonly current: boolean;
  readonly url: string;
  readonly clientId?: string;
  /** Of a sign-in with a code of the console. */
  readonly expiresAt?: string;
}

export function listProfiles(env: Environment, options: { readonly json?: boolean }): void {
  const { current, profiles } = readProfiles(env);
  const rows: ProfileRow[] = [...profiles].map(([name, profile]) => ({
    ...{ name, current: name === current, url: profile.url },
    ...('session' in profile ? { expiresAt: profile.expiresAt } : { clientId: profile.clientId }),
  }));
  if (options.json) printJson(rows);
  else if (rows.length === 0) printError('There is no profile. `countersign login` makes one.');
  else printRows(rows);
}

function printRows(rows: readonly ProfileRow[]): void {
  const width = Math.max(...rows.map(({ name }) => name.length));
  for (const row of rows)
    print(
      `${row.current ? '*' : ' '} ${row.name.padEnd(width)}  ${quoted(row.url)}  ${quoted(row.clientId ?? `signed in from the console until ${row.expiresAt}`)}`,
    );
}

export async function useProfile(env: Environment, name: string): Promise<void> {
  await changeProfiles(env, (stored) => {
    if (!stored.profiles.has(name))
      throw new CommandError(
        `there is no profile ${quoted(name)}; \`countersign profiles\` lists them`,
        exitCodes.notFound,
      );
    return { ...stored, current: name };
  });
  print(`The profile ${name} is the current one.`);
}
