/**
 * Limits how many refusals of each kind are sent to an organization's subscribers per minute. All are recorded in the audit log, within
 * the limit of kernel/refusal-limit.ts. The count joins the transaction, so the limit holds across all processes. A process that has
 * seen the limit reached asks no more until the next minute.
 */
import { isRefusalEvent, type RefusalEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { Tx } from '../data/db.ts';
import { sql } from '../data/sql.ts';
import type { LedgerEntry } from '../domain-event.ts';
import { minuteMs } from '../refusal-limit.ts';

/** The entries that are not sent. */
type LimitRefusalEvents = (
  tx: Tx,
  entries: readonly LedgerEntry[],
  now: number,
) => Promise<ReadonlySet<LedgerEntry>>;

interface Counted {
  readonly organizationId: string;
  readonly type: RefusalEvent;
  readonly entries: readonly LedgerEntry[];
}

const none: ReadonlySet<LedgerEntry> = new Set();

export function createRefusalEventLimit(): LimitRefusalEvents {
  let minute = 0;
  const reached = new Set<string>();
  const keyOf = ({ type, subject }: LedgerEntry) => `${subject.organizationId} ${type}`;

  return async (tx, entries, now) => {
    // Unknown clients, without an organization, are counted too: a wrong secret must not cost more queries than an unknown client.
    const refusals = entries.filter(({ type }) => isRefusalEvent(type));
    if (refusals.length === 0) return none;
    const current = now - (now % minuteMs);
    if (current !== minute) reached.clear();
    minute = current;
    const notSent = new Set(refusals.filter((entry) => reached.has(keyOf(entry))));
    const groups = Map.groupBy(
      refusals.filter((entry) => !notSent.has(entry)),
      keyOf,
    );
    if (groups.size === 0) return notSent;
    const counted = [...groups.values()].map((own) => countedOf(own));
    const totals = await count(tx, counted, new Date(current));
    for (const [index, [key, own]] of [...groups].entries()) {
      const earlier = (totals[index] ?? own.length) - own.length;
      for (const entry of own.slice(Math.max(0, limits.refusalEventsPerMinute - earlier))) notSent.add(entry);
      if (earlier + own.length >= limits.refusalEventsPerMinute) reached.add(key);
    }
    return notSent;
  };
}

const countedOf = (entries: readonly LedgerEntry[]): Counted => {
  const [{ type, subject }] = entries as [LedgerEntry];
  return { organizationId: subject.organizationId, type: type as RefusalEvent, entries };
};

/** The totals of this minute, in the order of the groups. Rows are locked in one order, so that no two transactions deadlock. */
async function count(tx: Tx, counted: readonly Counted[], minute: Date): Promise<(number | undefined)[]> {
  const rows = await tx.many<{ organizationId: string; type: string; sent: number }>(
    'refusals.countEvents',
    sql`insert into refusal_event_counts as c (organization_id, event_type, minute, events)
        select organization_id, event_type, ${minute}, events
        from unnest(${counted.map(({ organizationId }) => organizationId)}::uuid[],
          ${counted.map(({ type }) => type)}::text[], ${counted.map(({ entries }) => entries.length)}::integer[])
          as counted (organization_id, event_type, events)
        order by organization_id, event_type
        on conflict (organization_id, event_type, minute) do update set events = c.events + excluded.events
        returning organization_id as "organizationId", event_type as type, events as sent`,
  );
  return counted.map(
    ({ organizationId, type }) =>
      rows.find((row) => row.organizationId === organizationId && row.type === type)?.sent,
  );
}
