-- The log proves itself: every event is linked into its organization's chain of hashes, and the head of the chain is
-- signed. docs/decisions/006-audit-chain.md says how, and what it does and does not prove.

-- The transaction that appended the row: the sequencer finds what is new by it, however long a transaction was open.
-- Rows from before have 0; a constant first, so that no partition is rewritten.
alter table audit_events add column appended_in xid8 not null default '0';
alter table audit_events alter column appended_in set default pg_current_xact_id();
create index audit_events_by_transaction on audit_events (appended_in);

-- Proof that the service appended the row and nobody else: without it the sequencer does not link.
alter table audit_events add column seal bytea;

-- As text, spelt as in the canonical text: then the two can be compared by the million without being read.
alter table audit_events alter column metadata type json using (canonical::json -> 'metadata');

-- One row for each event, in the order in which the sequencer came by it. By day of linking, so that what is dropped is
-- always the beginning of a chain.
create table audit_links (
  organization_id uuid not null,
  sequence bigint not null,
  event_id uuid not null,
  occurred_at timestamptz not null,
  event_hash bytea not null,
  hash bytea not null,
  linked_on date not null,
  primary key (organization_id, sequence, linked_on),
  unique (event_id, linked_on)
) partition by range (linked_on);

-- What the instance's key has signed about the head of a chain. The text counts; the columns are for finding it.
create table audit_checkpoints (
  organization_id uuid not null,
  number bigint not null,
  size bigint not null,
  head bytea not null,
  previous bytea,
  taken_at timestamptz not null,
  taken_on date not null,
  key_id text not null,
  signed text not null,
  primary key (organization_id, number, taken_on)
) partition by range (taken_on);
create index audit_checkpoints_by_time on audit_checkpoints (taken_at);

-- The signing keys in the order in which they took over; each has signed what its predecessor was.
create table audit_keys (
  number integer primary key,
  key_id text not null,
  taken_at timestamptz not null,
  signed text not null
);

-- What retention has dropped, signed: up to which day events, up to which checkpoint links.
create table audit_anchors (
  organization_id uuid not null,
  number integer not null,
  taken_at timestamptz not null,
  signed text not null,
  primary key (organization_id, number)
);

-- How far the sequencer has come. No evidence: whoever changes it can at most keep events from being linked, which shows.
create table audit_progress (
  only_row boolean primary key default true check (only_row),
  -- Every event appended by an earlier transaction has been looked at.
  settled_before xid8 not null,
  -- No event appended by this or a later transaction has a link yet.
  reached xid8 not null
);
insert into audit_progress (settled_before, reached) values ('0', '0');

create function audit_refuse() returns trigger language plpgsql as $$
begin
  raise exception '% of % is refused: the audit log is append-only', lower(tg_op), tg_table_name
    using errcode = 'insufficient_privilege';
end $$;

do $$
declare
  evidence text;
begin
  foreach evidence in array array['audit_events', 'audit_links', 'audit_checkpoints', 'audit_keys', 'audit_anchors'] loop
    execute format('create trigger append_only before update or delete on %I for each row execute function audit_refuse()', evidence);
    execute format('create trigger no_truncate before truncate on %I for each statement execute function audit_refuse()', evidence);
  end loop;
  -- Such a trigger is not handed down to partitions.
  for evidence in select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_events'::regclass loop
    execute format('create trigger no_truncate before truncate on %s for each statement execute function audit_refuse()', evidence);
  end loop;
end $$;

create function audit_attach_day(parent text, day date, lowest text, beyond text) returns boolean language plpgsql as $$
declare
  partition text := parent || '_' || to_char(day, 'YYYYMMDD');
begin
  if to_regclass(partition) is not null then
    return false;
  end if;
  execute format('create table %I (like %I including defaults including constraints)', partition, parent);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition, lowest, beyond);
  execute format('create trigger no_truncate before truncate on %I for each statement execute function audit_refuse()', partition);
  return true;
end $$;

-- Makes what is missing of one day (UTC). Attaching, unlike creating in place, lets readers and writers of the other days
-- go on meanwhile.
create or replace function audit_ensure_partition(day date) returns boolean language plpgsql as $$
declare
  made boolean;
begin
  made := audit_attach_day('audit_events', day, (day::timestamp at time zone 'UTC')::text, ((day + 1)::timestamp at time zone 'UTC')::text);
  made := audit_attach_day('audit_links', day, day::text, (day + 1)::text) or made;
  return audit_attach_day('audit_checkpoints', day, day::text, (day + 1)::text) or made;
end $$;
