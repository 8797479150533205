/** `uncounted_tokens`: one row for each batch of tokens that was issued to organizations without limits, until it is counted. */
import { uuids } from '../../kernel/data/binary-arrays.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, sql } from '../../kernel/data/sql.ts';

/** Holds about a minute of tokens at full load. */
const chunk = 10_000;

export interface IssuedToken {
  readonly organizationId: string;
  readonly agentId: string;
}

/** `hour` is ISO 8601. An agent is named once for each of its tokens. */
export const insertUncountedAtCommit = (tx: Tx, hour: string, tokens: readonly IssuedToken[]): void =>
  tx.atCommit(
    'usage.addUncounted',
    prepared(sql`
      insert into uncounted_tokens (hour, organization_ids, agent_ids)
      values (${hour}::timestamptz, ${uuids(tokens.map(({ organizationId }) => organizationId))}::uuid[],
              ${uuids(tokens.map(({ agentId }) => agentId))}::uuid[])`),
  );

export async function hasUncounted(db: Queryable): Promise<boolean> {
  const row = await db.one<{ found: boolean }>(
    'usage.hasUncounted',
    prepared(sql`select exists (select from uncounted_tokens) as found`),
  );
  return row.found;
}

/**
 * Adds a chunk of the rows to the counters and deletes it, in one statement, so each token is counted once. Call it under the
 * lock of the compaction: no other transaction writes shard 0. Returns whether there may be more.
 */
export async function countChunk(tx: Tx): Promise<boolean> {
  const { batches } = await tx.one<{ batches: number }>(
    'usage.countUncounted',
    sql`with taken as (
          delete from uncounted_tokens where ctid = any (array(select ctid from uncounted_tokens limit ${chunk}))
          returning hour, organization_ids, agent_ids
        ), issued as materialized (
          select organization_id, agent_id, hour, count(*) as tokens
          from taken cross join lateral unnest(organization_ids, agent_ids) as token (organization_id, agent_id)
          group by organization_id, agent_id, hour
        ), days as (
          insert into usage_days as u (organization_id, day, metric, agent_id, shard, quantity)
          select organization_id, (hour at time zone 'UTC')::date, 'tokens_issued', agent_id, 0, sum(tokens) from issued
          group by 1, 2, 4 order by 1, 2, 4
          on conflict (organization_id, day, metric, agent_id, shard) do update set quantity = u.quantity + excluded.quantity
        ), hours as (
          insert into token_hours as t (organization_id, hour, shard, tokens)
          select organization_id, hour, 0, sum(tokens) from issued group by 1, 2 order by 1, 2
          on conflict (organization_id, hour, shard) do update set tokens = t.tokens + excluded.tokens
        ), months as (
          insert into token_months as t (organization_id, month, agent_id, shard, tokens)
          select organization_id, date_trunc('month', hour at time zone 'UTC')::date, agent_id, 0, sum(tokens) from issued
          group by 1, 2, 3 order by 1, 2, 3
          on conflict (organization_id, month, agent_id, shard) do update set tokens = t.tokens + excluded.tokens
        )
        select count(*) as batches from taken`,
  );
  return batches === chunk;
}
