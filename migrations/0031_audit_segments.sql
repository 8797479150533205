-- One row per chain and pass of the sequencer, instead of one per event and one per checkpoint; and one signature per pass,
-- over a Merkle tree of the new checkpoints. docs/decisions/006-audit-chain.md, docs/decisions/014-tree-heads.md.

-- No sequencer may link meanwhile. Afterwards the sequencer of an earlier version finds no tables, and so cannot fork a chain.
lock table audit_progress in exclusive mode;
lock table audit_links, audit_checkpoints in access exclusive mode;

-- A checkpoint and the links that it covers.
create table audit_segments (
  organization_id uuid not null,
  number bigint not null,
  -- The sequence of its last link.
  size bigint not null,
  taken_at timestamptz not null,
  -- The lowest and the highest transaction that appended one of its events: a link is found by them. Null when retention had
  -- dropped all its events before this table existed.
  first_appended_in xid8,
  last_appended_in xid8,
  -- The tree head that covers it, and its place in the tree; null when the checkpoint itself is signed.
  tree bigint,
  leaf_index integer,
  taken_on date not null,
  head bytea not null,
  previous bytea,
  -- The nodes of the inclusion proof (RFC 9162), 32 bytes each.
  proof bytea,
  -- Of the checkpoints that earlier versions signed one by one.
  key_id text,
  signed text,
  -- For each link: event id (16 bytes), time in microseconds since 2000 (8), hash of the event (32).
  records bytea not null,
  primary key (organization_id, size, number, taken_on)
) partition by range (taken_on);
-- Hashes do not compress.
alter table audit_segments alter column records set storage external;
create index audit_segments_by_transaction on audit_segments (organization_id, last_appended_in, first_appended_in);
-- Rows are appended in the order of time.
create index audit_segments_by_time on audit_segments using brin (taken_at) with (pages_per_range = 16, autosummarize = on);

-- What the instance's key has signed about a pass: the root of the tree over its checkpoints.
create table audit_tree_heads (
  number bigint not null,
  taken_at timestamptz not null,
  taken_on date not null,
  -- How many checkpoints the tree has.
  size integer not null,
  root bytea not null,
  -- The hash of the text of the tree head before.
  previous bytea,
  key_id text not null,
  signed text not null,
  primary key (number, taken_on)
) partition by range (taken_on);

-- Links that the move below found inconsistent. Verification reports their chains.
create table audit_inconsistent_links (
  organization_id uuid not null,
  sequence bigint not null,
  event_id uuid not null,
  occurred_at timestamptz not null,
  event_hash bytea not null,
  hash bytea not null,
  linked_on date not null
);
create index audit_inconsistent_links_by_organization on audit_inconsistent_links (organization_id);

do $$
declare
  evidence text;
begin
  foreach evidence in array array['audit_segments', 'audit_tree_heads', 'audit_inconsistent_links'] loop
    execute format('create trigger append_only before update or delete on %I for each row execute function audit_refuse()', evidence);
    execute format('create trigger no_truncate before truncate on %I for each statement execute function audit_refuse()', evidence);
  end loop;
end $$;

-- As before, and with the storage of the columns.
create or replace function audit_attach_day(parent text, day date, lowest text, beyond text) returns boolean language plpgsql as $$
declare
  partition text := parent || '_' || to_char(day, 'YYYYMMDD');
begin
  if to_regclass(partition) is not null then
    return false;
  end if;
  execute format('create table %I (like %I including defaults including constraints including storage)', partition, parent);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition, lowest, beyond);
  execute format('create trigger no_truncate before truncate on %I for each statement execute function audit_refuse()', partition);
  return true;
end $$;

create or replace function audit_ensure_partition(day date) returns boolean language plpgsql as $$
declare
  made boolean;
begin
  made := audit_attach_day('audit_events', day, (day::timestamp at time zone 'UTC')::text, ((day + 1)::timestamp at time zone 'UTC')::text);
  made := audit_attach_day('audit_segments', day, day::text, (day + 1)::text) or made;
  return audit_attach_day('audit_tree_heads', day, day::text, (day + 1)::text) or made;
end $$;

select count(*) filter (where audit_attach_day('audit_segments', day, day::text, (day + 1)::text)),
       count(*) filter (where audit_attach_day('audit_tree_heads', day, day::text, (day + 1)::text))
from (
  select distinct to_date(right(relname, 8), 'YYYYMMDD') as day
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent in ('audit_links'::regclass, 'audit_checkpoints'::regclass)
) days;

-- The links after `beyond` through `size` belong to the checkpoint.
create temporary table audit_ranges on commit drop as
select organization_id, number, taken_on, size,
       coalesce(lag(size) over (partition by organization_id order by number, taken_on), 0) as beyond
from audit_checkpoints;
create unique index on audit_ranges (organization_id, taken_on, size, number);
analyze audit_ranges;

-- Each checkpoint with the links of its day. A link that is missing or too much makes the number of records wrong, which
-- verification reports.
insert into audit_segments
  (organization_id, number, size, taken_at, first_appended_in, last_appended_in, taken_on, head, previous, key_id, signed, records)
select c.organization_id, c.number, c.size, c.taken_at, covered.transactions[1],
       covered.transactions[array_length(covered.transactions, 1)], c.taken_on, c.head, c.previous, c.key_id, c.signed,
       coalesce(covered.records, '')
from audit_checkpoints c join audit_ranges using (organization_id, number, taken_on, size)
left join lateral (
  select string_agg(uuid_send(l.event_id) || timestamptz_send(l.occurred_at) || l.event_hash, ''::bytea order by l.sequence) as records,
         array_agg(e.appended_in order by e.appended_in) filter (where e.appended_in is not null) as transactions
  from audit_links l
  left join audit_events e
    on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = l.organization_id
  where l.organization_id = c.organization_id and l.linked_on = c.taken_on and l.sequence > beyond and l.sequence <= c.size
) covered on true;

-- Links that no checkpoint of their day covers, and links whose hash does not follow from the link before.
insert into audit_inconsistent_links (organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on)
select organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on
from (
  select *, case
              when sequence = 1 then sha256(convert_to('countersign audit chain of ' || organization_id, 'UTF8'))
              else lag(hash) over (partition by organization_id order by sequence, linked_on)
            end as hash_before
  from audit_links
) l
where not exists (
    select from audit_ranges r
    where r.organization_id = l.organization_id and r.taken_on = l.linked_on and r.size >= l.sequence and r.beyond < l.sequence
  )
  or hash <> sha256(convert_to(
       encode(hash_before, 'hex')
         || encode(int8send(sequence) || uuid_send(event_id) || timestamptz_send(occurred_at) || event_hash, 'hex'),
       'UTF8'));

drop table audit_links, audit_checkpoints;
