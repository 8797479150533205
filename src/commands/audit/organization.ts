/** `--organization` of the commands of the audit log: an id, or a slug or name that is looked up. */
import { isUuid } from '../../kernel/ids.ts';
import { defaultDataFolder } from '../client/connection-options.ts';
import { organizationKind } from '../client/names/kinds.ts';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { printError, quoted } from '../terminal.ts';

interface OrganizationOptions {
  readonly organization?: string | undefined;
}

interface Names {
  organizationNames(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** A name is that of an organization in the database. */
export async function organizationInDatabase(
  io: Io,
  { organization }: OrganizationOptions,
  { organizationNames }: Names,
): Promise<string | undefined> {
  if (organization === undefined || isUuid(organization)) return organization?.toLowerCase();
  const { requireMatch } = await import('../client/names/choose.ts');
  const names = await organizationNames();
  const { id, label } = requireMatch(organizationKind, organization, names, 'in the database');
  printError(io, `using ${label}`);
  return id;
}

/** The archive has ids only. The server says which one a name means, and the command says what the server has said. */
export async function organizationAtServer(
  io: Io,
  { organization }: OrganizationOptions,
): Promise<string | undefined> {
  if (organization === undefined || isUuid(organization)) return organization?.toLowerCase();
  const { createIdOf } = await import('../client/names/resolve.ts');
  const { accountFrom } = await import('../client/account.ts');
  const options = { data: defaultDataFolder };
  let url: string;
  try {
    ({ url } = accountFrom(io, options));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      `the archive has ids of organizations, no names: give the id instead of ${quoted(organization)}, or let the server look it up: ${error.message}`,
      error.exitCode,
    );
  }
  const onMatch = (label: string) => printError(io, `using ${label} at ${quoted(url)}`);
  return createIdOf(io, options, onMatch)(organizationKind, organization);
}
