/** `countersign profiles`: which profiles there are, and which one is current. Never a secret. */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
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

export function listProfiles(io: Io, options: { readonly json?: boolean }): void {
  const { current, profiles } = readProfiles(io);
  const rows: ProfileRow[] = [...profiles].map(([name, profile]) => ({
    ...{ name, current: name === current, url: profile.url },
    ...('session' in profile ? { expiresAt: profile.expiresAt } : { clientId: profile.clientId }),
  }));
  if (options.json) printJson(io, rows);
  else if (rows.length === 0) printError(io, 'There is no profile. `countersign login` makes one.');
  else printRows(io, rows);
}

function printRows(io: Io, rows: readonly ProfileRow[]): void {
  const width = Math.max(...rows.map(({ name }) => name.length));
  for (const row of rows)
    print(
      io,
      `${row.current ? '*' : ' '} ${row.name.padEnd(width)}  ${quoted(row.url)}  ${quoted(row.clientId ?? `signed in from the console until ${row.expiresAt}`)}`,
    );
}

export async function useProfile(io: Io, name: string): Promise<void> {
  await changeProfiles(io, (stored) => {
    if (!stored.profiles.has(name))
      throw new CommandError(
        `there is no profile ${quoted(name)}; \`countersign profiles\` lists them`,
        exitCodes.notFound,
      );
    return { ...stored, current: name };
  });
  print(io, `The profile ${name} is the current one.`);
}
