/**
 * Refusals in the audit log. Each is recorded before the caller is answered; concurrent ones share a commit. Those of
 * unauthenticated requests are limited per organization and minute, because anyone can cause them: beyond the limit they are
 * counted, and one event per organization and minute says how many were not recorded.
 */
import { limits } from '../contract/limits.ts';
import type { Clock } from './clock.ts';
import { createGatherer } from './concurrency/batcher.ts';
import type { Loop } from './concurrency/loops.ts';
import type { Db, Tx } from './data/db.ts';
import { sql } from './data/sql.ts';
import { nilUuid } from './ids.ts';
import type { Entry, Ledger } from './ledger.ts';
import type { Metrics } from './observability/metrics.ts';

export type RecordRefusal = (entry: Entry) => Promise<void>;

export const createRecordRefusal = ({ db, ledger }: { db: Db; ledger: Ledger }): RecordRefusal =>
  createGatherer({
    run: async (entries: readonly Entry[]) => {
      await db.transaction((tx) => ledger.recordAll(tx, entries));
      return entries.map(() => undefined);
    },
    atMost: 100,
    atOnce: 1,
    waiting: 1_000,
  });

const minuteMs = 60_000;
const maxReason = 256;

/** A refused request that proved no identity: its actor is an address, not an agent. */
const isAnonymousRefusal = ({ actor, subject }: Entry): boolean =>
  subject.outcome === 'failure' && actor.agentId === undefined;

/** The entries to record. The count joins the transaction, so the limit holds across all processes. */
export async function limitRefusals(
  tx: Tx,
  entries: readonly Entry[],
  now: number,
): Promise<readonly Entry[]> {
  const refusals = entries.filter(isAnonymousRefusal);
  if (refusals.length === 0) return entries;
  const byOrganization = Map.groupBy(refusals, ({ subject }) => subject.organizationId);
  const totals = await countRefusals(tx, byOrganization, now);
  const suppressed = new Set<Entry>();
  for (const [organizationId, own] of byOrganization) {
    const earlier = (totals.get(organizationId) ?? own.length) - own.length;
    for (const entry of own.slice(Math.max(0, limits.refusalsPerMinute - earlier))) suppressed.add(entry);
  }
  return entries.filter((entry) => !suppressed.has(entry));
}

/** Answers the organizations' totals of this minute. Rows are locked in one order, so that no two transactions deadlock. */
async function countRefusals(
  tx: Tx,
  byOrganization: ReadonlyMap<string, readonly Entry[]>,
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

interface Counted {
  readonly organizationId: string;
  readonly minute: string;
  readonly refused: number;
  readonly lastAgentId: string;
  readonly lastReason: string;
}

/** For clocks that differ: a node that is late may still count for a minute that is over. */
const graceMs = minuteMs;
const maxRows = 500;

const worker = {
  requestId: 'refusals-suppressed',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign worker',
  agentId: nilUuid,
};

/** Records `refusals.suppressed` for each organization and minute over the limit. */
export const createRefusalsLoop = (deps: {
  db: Db;
  clock: Clock;
  ledger: Ledger;
  metrics: Metrics;
}): Loop => ({
  name: 'refusals-suppressed',
  everyMs: 15_000,
  async run(signal) {
    while (!signal.aborted && (await summarize(deps)) >= maxRows);
  },
});

function summarize({
  db,
  clock,
  ledger,
  metrics,
}: Parameters<typeof createRefusalsLoop>[0]): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await takeCounts(tx, new Date(clock.now() - minuteMs - graceMs));
    const over = rows
      .map((row) => ({ ...row, suppressed: row.refused - limits.refusalsPerMinute }))
      .filter(({ suppressed }) => suppressed > 0);
    await ledger.recordAll(
      tx,
      over.map(({ organizationId, minute, suppressed, lastAgentId, lastReason }) => ({
        actor: worker,
        type: 'refusals.suppressed',
        subject: {
          organizationId,
          agentId: nilUuid,
          outcome: 'failure',
          metadata: { suppressed, minute, lastAgentId, lastReason },
        },
      })),
    );
    tx.afterCommit(() => {
      for (const { suppressed } of over)
        metrics.count('service_audit_refusals_suppressed_total', {}, suppressed);
    });
    return rows.length;
  });
}

const takeCounts = (tx: Tx, before: Date): Promise<Counted[]> =>
  tx.many(
    'refusals.take',
    sql`delete from refusal_counts where ctid = any (array(
          select ctid from refusal_counts where minute <= ${before}
          order by minute limit ${maxRows} for update skip locked))
        returning organization_id as "organizationId", minute, refused, last_agent_id as "lastAgentId",
          last_reason as "lastReason"`,
  );
