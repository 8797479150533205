/** What retention reads, writes and drops. */
import type { Tx } from '../../../kernel/data/db.ts';
import { raw, sql } from '../../../kernel/data/sql.ts';
import type { CheckpointRow } from '../chain/links-store.ts';
import type { AnchorRow } from '../verify/evidence-store.ts';

/** Whoever writes waits behind us, so we do not wait for whoever reads. */
export const beImpatient = (tx: Tx): Promise<number> =>
  tx.run('audit.retention.impatient', sql`set local lock_timeout = '2s'`);

/** The day partitions up to a day: all of the events, and of the evidence those before it. */
export async function findExpired(tx: Tx, throughDay: string): Promise<string[]> {
  const rows = await tx.many<{ partition: string }>(
    'audit.retention.find',
    sql`select partition from (
          select parent.relname as parent, child.relname as partition, right(child.relname, 8) as day
          from pg_inherits
          join pg_class parent on parent.oid = inhparent
          join pg_class child on child.oid = inhrelid
          where inhparent in ('audit_events'::regclass, 'audit_links'::regclass, 'audit_checkpoints'::regclass)
        ) days
        where day ~ '^[0-9]{8}$' and partition = parent || '_' || day
          and (day < to_char(${throughDay}::date, 'YYYYMMDD')
               or day = to_char(${throughDay}::date, 'YYYYMMDD') and parent = 'audit_events')
        order by partition`,
  );
  return rows.map(({ partition }) => partition);
}

/** Every organization that has a chain, by leaps over the index. */
export async function findChains(tx: Tx): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.chains',
    sql`with recursive chain as (
          (select organization_id as id from audit_checkpoints order by organization_id limit 1)
          union all
          select (select organization_id from audit_checkpoints where organization_id > chain.id
                  order by organization_id limit 1)
          from chain where chain.id is not null
        )
        select id from chain where id is not null`,
  );
  return rows.map(({ id }) => id);
}

/** Every organization that has an anchor: there are few to each. */
export async function findAnchored(tx: Tx): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.anchored',
    sql`select distinct organization_id as id from audit_anchors`,
  );
  return rows.map(({ id }) => id);
}

/** The last checkpoint taken before that day. */
export const lastBeforeDay = (
  tx: Tx,
  organizationId: string,
  day: string,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.retention.last',
    sql`select organization_id as "organizationId", number, size, encode(head, 'hex') as head,
               encode(previous, 'hex') as previous, taken_at as at, key_id as "keyId", signed
        from audit_checkpoints where organization_id = ${organizationId} and taken_on < ${day}::date
        order by number desc limit 1`,
  );

export const insertAnchor = (tx: Tx, organizationId: string, row: AnchorRow): Promise<number> =>
  tx.run(
    'audit.anchor',
    sql`insert into audit_anchors (organization_id, number, taken_at, signed)
        values (${organizationId}, ${row.number}, ${row.at}, ${row.signed})`,
  );

/** Names come from the catalogue, and only those that end in a day. */
export async function dropPartitions(tx: Tx, partitions: readonly string[]): Promise<void> {
  if (partitions.length > 0) await tx.run('audit.retention.drop', raw(`drop table ${partitions.join(', ')}`));
}
