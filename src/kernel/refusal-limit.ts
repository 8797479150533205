/**
 * Limits how many refusals of unauthenticated requests are recorded per organization and minute, because anyone can cause them.
 * Beyond the limit they are only counted; kernel/refusals.ts records the count.
 */
import { limits } from '../contract/limits.ts';
import type { Tx } from './data/db.ts';
import { sql } from './data/sql.ts';
import type { LedgerEntry } from './domain-event.ts';
import { nilUuid } from './ids.ts';

export const minuteMs = 60_000;
const maxReason = 256;

/** A refused request that proved no identity: its actor is an address, not an agent. */
const isAnonymousRefusal = ({ actor, subject }: LedgerEntry): boolean =>
  subject.outcome === 'failure' && actor.agentId === undefined;

/** The entries to record. The count joins the transaction, so the limit holds across all processes. */
export async function limitRefusals(
  tx: Tx,
  entries: readonly LedgerEntry[],
  now: number,
): Promise<readonly LedgerEntry[]> {
  const refusals = entries.filter(isAnonymousRefusal);
  if (refusals.length === 0) return entries;
  const byOrganization = Map.groupBy(refusals, ({ subject }) => subject.organizationId);
  const totals = await countRefusals(tx, byOrganization, now);
  const suppressed = new Set<LedgerEntry>();
  for (const [organizationId, own] of byOrganization) {
    const earlier = (totals.get(organizationId) ?? own.length) - own.length;
    for (const entry of own.slice(Math.max(0, limits.refusalsPerMinute - earlier))) suppressed.add(entry);
  }
  return entries.filter((entry) => !suppressed.has(entry));
}

/** Returns the organizations' totals of this minute. Rows are locked in one order, so that no two transactions deadlock. */
async function countRefusals(
  tx: Tx,
  byOrganization: ReadonlyMap<string, readonly LedgerEntry[]>,
  now: number,
): Promise<Map<string, number>> {
  const minute = new Date(now - (now % minuteMs));
  const counted = [...byOrganization].map(([organizationId, refusals]) => {
    const last = refusals.at(-1)?.subject;
    const reason = String(last?.metadata?.reason ?? '')
      .slice(0, maxReason)
      .toWellFormed();
    return { organizationId, refused: refusals.length, agentId: last?.agentId ?? nilUuid, reason };
  });
  const rows = await tx.many<{ organizationId: string; refused: number }>(
    'refusals.count',
    sql`insert into refusal_counts as c (organization_id, minute, refused, last_agent_id, last_reason)
        select organization_id, ${minute}, refused, agent_id, reason
        from unnest(${counted.map(({ organizationId }) => organizationId)}::uuid[],
          ${counted.map(({ refused }) => refused)}::integer[], ${counted.map(({ agentId }) => agentId)}::uuid[],
          ${counted.map(({ reason }) => reason)}::text[]) as counted (organization_id, refused, agent_id, reason)
        order by organization_id
        on conflict (organization_id, minute) do update
        set refused = c.refused + excluded.refused, last_agent_id = excluded.last_agent_id,
            last_reason = excluded.last_reason
        returning organization_id as "organizationId", refused`,
  );
  return new Map(rows.map(({ organizationId, refused }) => [organizationId, refused]));
}
