/** Creates millions of audit rows, as token issuance over the last ten days would. */
import type pg from 'pg';
import type { BenchContext } from './bench.ts';
import { whole } from './rounds.ts';

const days = 10;
const rowsPerBatch = 250_000;

export async function fillAudit(client: pg.Client, rows: number, log: BenchContext['log']): Promise<void> {
  await client.query(
    `select audit_ensure_partition((now() at time zone 'UTC')::date - day) from generate_series(0, $1::int - 1) day`,
    [days],
  );
  await client.query(
    `create temporary table callers as
     select (row_number() over (order by random()))::int as n, agent_id, organization_id from agents
     limit 10000`,
  );
  await client.query('analyze callers');
  for (let done = 0; done < rows; ) {
    const next = Math.min(done + rowsPerBatch, rows);
    await client.query(insert, [done, next, rows, days]);
    done = next;
    log(`${whole(done)} of ${whole(rows)} audit rows`);
  }
  // Marks the rows as linked: the sequencer continues after them. Without `written_in` it would take the row for a restored one.
  await client.query(
    `update audit_progress set (settled_before, reached, written_in) =
       (select xid, xid, pg_current_xact_id() from pg_snapshot_xmax(pg_current_snapshot()) xid)`,
  );
}

/** Rows `$1` to `$2` of `$3`, oldest first, evenly over `$4` days until now; in the format of the audit log. */
const insert = `
  insert into audit_events
    (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical)
  select event_id, organization_id, agent_id, 'token.issued', 'success', '127.0.0.1', 'bench', metadata::json, at,
         '{"action":"token.issued","agentId":"' || agent_id || '","eventId":"' || event_id
         || '","ipAddress":"127.0.0.1","metadata":' || metadata || ',"organizationId":"' || organization_id
         || '","outcome":"success","timestamp":"' || to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
         || '","userAgent":"bench"}'
  from (
    select c.agent_id, c.organization_id, at, uuidv7(at - now()) as event_id,
           '{"audience":"http://localhost:3000","expiresIn":3600,"requestId":"' || gen_random_uuid()
           || '","scope":"agents:read tokens:read","tokenId":"' || uuidv7(at - now()) || '"}' as metadata
    from generate_series($1::int, $2::int - 1) i
    cross join lateral (
      select date_trunc('milliseconds', first + (now() - first) * (i::float8 / $3::int)) as at
      from (select ((now() at time zone 'UTC')::date - ($4::int - 1))::timestamp at time zone 'UTC' as first) span
    ) time
    join callers c on c.n = 1 + i % (select count(*)::int from callers)
  ) rows`;
