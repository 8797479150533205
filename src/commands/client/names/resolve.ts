/** The one place where a command finds the id of a thing that the user has named. */
import { isUuid } from '../../../kernel/ids.ts';
import { CommandError } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printError, quoted } from '../../terminal.ts';
import { type AccountOptions, accountFrom, organizationOf } from '../account.ts';
import { type Entry, isEntry, rowsIn } from '../api/table.ts';
import { ApiError, type Connection, connect } from '../connection.ts';
import { findMatch, requireMatch } from './choose.ts';
import type { Kind, List } from './kinds.ts';

/** `known` are the other ids of the request, by name. */
export type IdOf = (kind: Kind, text: string, known?: Readonly<Record<string, string>>) => Promise<string>;

const pageSize = 100;

/** `onMatch` gets what a name meant. An id means itself. */
export function createIdOf(
  io: Io,
  options: AccountOptions,
  onMatch: (label: string) => void = (label) => printError(io, `using ${label}`),
): IdOf {
  let connection: Connection | undefined;
  return async (kind, text, known = {}) => {
    if (isUuid(text)) return text;
    connection ??= connect(io, options);
    const own = () => organizationOf(io, accountFrom(io, options));
    const given = known.orgId ?? known.organizationId ?? known.organization_id;
    const organizationId = kind.isOfOrganization ? (given ?? (await own())) : '';
    const read = (list: List) => listOf(connection as Connection, kind, text, list);
    const exact = kind.exactly?.(text);
    const match =
      (exact && findMatch(kind, text, await read(exact))) ??
      requireMatch(kind, text, await read(kind.list(text, { known, organizationId })));
    // Another organization may give its things any name, also one that this one uses.
    const { freeIn } = match;
    if (freeIn !== undefined && freeIn !== given && freeIn !== (await own())) throw match.refusal();
    onMatch(match.label);
    return match.id;
  };
}

async function listOf(
  connection: Connection,
  kind: Kind,
  text: string,
  { path, query }: List,
): Promise<Entry[]> {
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
