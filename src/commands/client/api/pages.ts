/** `--all`: all pages of a list, with progress on standard error. */

import type { Io } from '../../io.ts';
import { printProgress } from '../../terminal.ts';
import type { Connection } from '../connection.ts';
import type { ApiCommand } from './api-commands.ts';
import type { ApiRequest } from './request.ts';
import { type Entry, rowsIn } from './table.ts';

/**
 * The answer of one page that has all rows. An entry that moves to the next page while we read is not repeated. Not `all` of the SDK, which
 * gives the rows alone, as they come.
 */
export async function readAllPages(
  io: Io,
  connection: Connection,
  command: ApiCommand,
  request: ApiRequest,
): Promise<unknown> {
  const { method, path, query } = request;
  const largest = command.operation.parameters.find(({ name }) => name === 'limit')?.schema.maximum;
  const limit = Number(query.limit ?? largest ?? 100);
  const all = new Map<string, Entry>();
  let first: Record<string, unknown> | undefined;
  let name = 'data';
  try {
    for (let read = 0, page = 1; ; page += 1) {
      const position = command.paging === 'page' ? { page } : { offset: read };
      const answer = await connection.call<Record<string, unknown>>(method, path, {
        query: { ...query, limit, ...position },
        ...(request.own && { own: true }),
      });
      const list = rowsIn(answer);
      first ??= answer;
      name = list?.name ?? name;
      const rows = list?.rows ?? [];
      read += rows.length;
      for (const row of rows) all.set(keyOf(row), row);
      printProgress(io, `${all.size} of ${answer.total}`);
      if (rows.length < limit || read >= Number(answer.total)) break;
    }
  } finally {
    printProgress(io, '');
  }
  return { ...first, [name]: [...all.values()], total: all.size, limit: all.size };
}

/** Our entries begin with their ids: grants and shares with two. An entry without one, such as a checkpoint, is its own key. */
function keyOf(row: Entry): string {
  const fields = Object.entries(row);
  const end = fields.findIndex(([name]) => !/^id$|Id$|_id$/.test(name));
  const ids = end < 0 ? fields : fields.slice(0, end);
  return JSON.stringify(ids.length > 0 ? ids : row);
}
