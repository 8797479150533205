import canonicalize from 'canonicalize';
import type { Tx } from '../../kernel/db.ts';
import type { Happening } from '../../kernel/ledger.ts';
import { takeLock } from '../../kernel/locks.ts';
import { prepared, sql } from '../../kernel/sql.ts';

/**
 * The columns are read out of the canonical text, so that a row cannot say one thing in one place and another elsewhere.
 * `offset 0` keeps the text from being parsed once for each of them.
 */
export async function append(tx: Tx, happenings: readonly Happening[]): Promise<void> {
  tx.atCommit(
    'audit.append',
    prepared(sql`
      insert into audit_events
        (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical)
      select (event ->> 'eventId')::uuid, (event ->> 'organizationId')::uuid, (event ->> 'agentId')::uuid,
             event ->> 'action', event ->> 'outcome', event ->> 'ipAddress', event ->> 'userAgent',
             event -> 'metadata', (event ->> 'timestamp')::timestamptz, canonical
      from (select canonical, canonical::jsonb as event
            from unnest(${happenings.map(canonicalText)}::text[]) as canonical offset 0) as parsed`),
  );
}

const canonicalText = ({ type, ...rest }: Happening): string =>
  canonicalize({ ...rest, action: type }) as string;

/** One node at a time: two that attach the same day at once would trip over each other. */
export async function makePartitions(tx: Tx, days: readonly string[]): Promise<number> {
  await takeLock(tx, 'auditPartitions');
  const { made } = await tx.one<{ made: number }>(
    'audit.partitions.make',
    sql`select count(*) filter (where audit_ensure_partition(day)) as made from unnest(${days}::date[]) as day`,
  );
  return made;
}
