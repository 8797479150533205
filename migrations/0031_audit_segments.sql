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

-- Each link with the checkpoint of its day that covers it: the first whose size is not below its sequence. The links that
-- belong to the checkpoint are after `beyond`, the size of the checkpoint before. One sort, for any number of checkpoints.
create temporary table audit_covered on commit drop as
select organization_id, day, sequence, event_id, occurred_at, event_hash, hash,
       first_value(number) over checkpoint as number, first_value(beyond) over checkpoint as beyond
from (
  select *, count(number) over (partition by organization_id, day order by sequence desc, number nulls last
                                rows unbounded preceding) as place
  from (
    select organization_id, taken_on as day, size as sequence, number,
           coalesce(lag(size) over (partition by organization_id order by number, taken_on), 0) as beyond,
           null::uuid as event_id, null::timestamptz as occurred_at, null::bytea as event_hash, null::bytea as hash
    from audit_checkpoints
    union all
    select organization_id, linked_on, sequence, null, null, event_id, occurred_at, event_hash, hash from audit_links
  ) chain
) placed
window checkpoint as (partition by organization_id, day, place order by sequence desc, number nulls last
                      rows unbounded preceding);
analyze audit_covered;

-- A link that is missing or too much makes the number of records wrong, which verification reports.
insert into audit_segments
  (organization_id, number, size, taken_at, first_appended_in, last_appended_in, taken_on, head, previous, key_id, signed, records)
select c.organization_id, c.number, c.size, c.taken_at, covered.transactions[1],
       covered.transactions[array_length(covered.transactions, 1)], c.taken_on, c.head, c.previous, c.key_id, c.signed,
       coalesce(covered.records, '')
from audit_checkpoints c
left join (
  select l.organization_id, l.day, l.number,
         string_agg(uuid_send(l.event_id) || timestamptz_send(l.occurred_at) || l.event_hash, ''::bytea order by l.sequence) as records,
         array_agg(e.appended_in order by e.appended_in) filter (where e.appended_in is not null) as transactions
  from audit_covered l
  left join audit_events e
    on e.occurred_at = l.occurred_at and e.event_id = l.event_id and e.organization_id = l.organization_id
  where l.event_id is not null and l.sequence > l.beyond
  group by l.organization_id, l.day, l.number
) covered on covered.organization_id = c.organization_id and covered.day = c.taken_on and covered.number = c.number;

-- Links that no checkpoint of their day covers, and links whose hash does not follow from the link before.
insert into audit_inconsistent_links (organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on)
select organization_id, sequence, event_id, occurred_at, event_hash, hash, day
from (
  select *, case
              when sequence = 1 then sha256(convert_to('countersign audit chain of ' || organization_id, 'UTF8'))
              else lag(hash) over (partition by organization_id order by sequence, day)
            end as hash_before
  from audit_covered where event_id is not null
) l
where number is null or sequence <= beyond
  or hash <> sha256(convert_to(
       encode(hash_before, 'hex')
         || encode(int8send(sequence) || uuid_send(event_id) || timestamptz_send(occurred_at) || event_hash, 'hex'),
       'UTF8'));

drop table audit_links, audit_checkpoints;
