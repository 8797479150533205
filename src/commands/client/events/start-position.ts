/** Finds the position in the stream of events from which a time is covered, by a binary search in the links of the log. */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Connection } from '../connection.ts';

interface ChainPage {
  readonly organizationId: string;
  readonly size: number;
  readonly startsAfter: number;
  readonly links: readonly { readonly sequence: number; readonly time: string }[];
}

const readChain = (connection: Connection, after?: number): Promise<ChainPage> =>
  connection.call('GET', '/audit/chain', { query: { after, limit: 1 } });

/** The organization whose events the caller gets. */
export const findOrganization = async (connection: Connection): Promise<string> =>
  String((await readChain(connection)).organizationId);

/** Transactions commit in another order than they record: a link may be later in the log than links with a later time. */
const orderToleranceMs = 300_000;

/** `now` is any position of the stream. All events of `since` or later are after the result, and some earlier ones may be. */
export async function findPosition(connection: Connection, now: string, since: number): Promise<string> {
  const { size, startsAfter } = await readChain(connection);
  let [before, end] = [startsAfter, size];
  while (before < end) {
    const middle = before + Math.floor((end - before) / 2);
    const [link] = (await readChain(connection, middle)).links;
    if (link && Date.parse(link.time) < since - orderToleranceMs) before = middle + 1;
    else end = middle;
  }
  return now.replace(/\d+$/, String(before));
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `10m`, `2h` and `1d` ago, or a time in ISO 8601. */
export function readSince(text: string, now: number): number {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const time =
    unit === undefined
      ? /^\d{4}-\d{2}-\d{2}/.test(text)
        ? Date.parse(text)
        : Number.NaN
      : now - Number(amount) * (units[unit] ?? 0);
  if (Number.isNaN(time))
    throw new CommandError(
      '--since must be a duration such as 30s, 10m, 2h or 1d, or a time such as 2030-01-31T12:00:00Z',
      exitCodes.usage,
    );
  if (time > now) throw new CommandError('--since must not be in the future', exitCodes.usage);
  return time;
}
