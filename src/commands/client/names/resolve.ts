/** The one place where a command finds the id of a thing that the user has named. */
import { isUuid } from '../../../kernel/ids.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { quoted } from '../../terminal.ts';
import { type AccountOptions, accountFrom, organizationOf } from '../account.ts';
import { type Entry, isEntry, rowsIn } from '../api/table.ts';
import { suggestion } from '../apply/file/nearest.ts';
import { ApiError, type Connection, connect } from '../connection.ts';
import { type Kind, namesOf } from './kinds.ts';

/** `known` are the other ids of the request, by name. */
export type IdOf = (kind: Kind, text: string, known?: Readonly<Record<string, string>>) => Promise<string>;

const pageSize = 100;
const maxShown = 20;

export function createIdOf(io: Io, options: AccountOptions): IdOf {
  let connection: Connection | undefined;
  return async (kind, text, known = {}) => {
    if (isUuid(text)) return text;
    connection ??= connect(io, options);
    const given = known.orgId ?? known.organizationId ?? known.organization_id;
    const organizationId = kind.isOfOrganization
      ? (given ?? (await organizationOf(io, accountFrom(io, options))))
      : '';
    const entries = await listOf(connection, kind, text, { known, organizationId });
    return only(kind, text, entries);
  };
}

async function listOf(
  connection: Connection,
  kind: Kind,
  text: string,
  ids: Parameters<Kind['list']>[1],
): Promise<Entry[]> {
  const { path, query } = kind.list(text, ids);
  const entries: Entry[] = [];
  try {
    for (let page = 1; ; page += 1) {
      const answer = await connection.call<{ total?: unknown } | undefined>('GET', path, {
        query: { ...query, page, limit: pageSize },
        optional: true,
      });
      const rows = (rowsIn(answer)?.rows ?? []).filter(isEntry);
      entries.push(...rows);
      const isLast = typeof answer?.total !== 'number' || entries.length >= answer.total;
      if (isLast || rows.length === 0) return entries;
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new CommandError(
      `cannot look up the ${kind.noun} ${quoted(text)}; give its id: ${error.message}`,
      error.exitCode,
    );
  }
}

function only(kind: Kind, text: string, entries: readonly Entry[]): string {
  for (const field of Object.keys(kind.names)) {
    const found = entries.filter((entry) => isSame(entry[field], text, field));
    if (found.length > 1) throw ambiguous(kind, text, found);
    const id = found[0]?.[kind.id];
    if (typeof id === 'string') return id;
  }
  const known = entries.flatMap((entry) =>
    Object.keys(kind.names).map((field) => String(entry[field] ?? '')),
  );
  throw new CommandError(
    `there is no ${kind.noun} ${quoted(text)} that this account can see; give its ${namesOf(kind)}${quoted(suggestion(text, known))}`,
    exitCodes.notFound,
  );
}

/** As the server compares them: addresses in any case. */
const isSame = (value: unknown, text: string, field: string): boolean =>
  field === 'email' ? String(value).toLowerCase() === text.toLowerCase() : value === text;

function ambiguous({ noun, id, shows }: Kind, text: string, found: readonly Entry[]): CommandError {
  const lines = found
    .slice(0, maxShown)
    .map((entry) =>
      [entry[id], ...shows.map((field) => `${field}=${shown(entry[field])}`)].map(quoted).join('  '),
    );
  const more = found.length - lines.length;
  return new CommandError(
    [
      `${found.length} things are called ${quoted(text)} where the command needs one ${noun}; give the id of one:`,
      ...lines.map((line) => `  ${line}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ].join('\n'),
    exitCodes.usage,
  );
}

const shown = (value: unknown): string => (value === null || value === undefined ? '-' : String(value));
