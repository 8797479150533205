import canonicalize from 'canonicalize';
import type { Tx } from '../../kernel/db.ts';
import type { Happening } from '../../kernel/ledger.ts';
import { takeLock } from '../../kernel/locks.ts';
import { sql } from '../../kernel/sql.ts';

export async function append(tx: Tx, happening: Happening): Promise<void> {
  const { eventId, organizationId, agentId, type, outcome, ipAddress, userAgent, metadata, timestamp } =
    happening;
  const event = {
    eventId,
    organizationId,
    agentId,
    action: type,
    outcome,
    ipAddress,
    userAgent,
    metadata,
    timestamp,
  };
  await tx.run(
    'audit.append',
    sql`insert into audit_events
          (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical)
        values
          (${eventId}, ${organizationId}, ${agentId}, ${type}, ${outcome}, ${ipAddress}, ${userAgent},
           ${JSON.stringify(metadata)}, ${timestamp}, ${canonicalize(event)})`,
  );
}

/** One node at a time: two that attach the same day at once would trip over each other. */
export async function makePartitions(tx: Tx, days: readonly string[]): Promise<number> {
  await takeLock(tx, 'auditPartitions');
  const { made } = await tx.one<{ made: number }>(
    'audit.partitions.make',
    sql`select count(*) filter (where audit_ensure_partition(day)) as made from unnest(${days}::date[]) as day`,
  );
  return made;
}
