-- The instance log: one append-only Merkle tree over the signed tree heads of all organizations, in the formats of transparency logs.
-- docs/decisions/026-instance-log.md.

create table instance_logs (
  -- Another key or host begins another log.
  log_number integer primary key,
  -- Name of the log, and of its key.
  origin text not null unique,
  verifier_key text not null,
  -- Of the log before: the first entry of this one.
  previous_checkpoint text,
  -- The tree head that is the first entry, or the second one after a previous checkpoint.
  first_tree_head bigint not null,
  size bigint not null,
  -- The newest one, signed.
  checkpoint text not null,
  updated_at timestamptz not null
);

-- 256 hashes each; the last of a level may have fewer, and grows.
create table instance_log_tiles (
  log_number integer not null references instance_logs,
  level smallint not null,
  tile_index bigint not null,
  hashes bytea not null check (length(hashes) between 32 and 8192 and length(hashes) % 32 = 0),
  primary key (log_number, level, tile_index)
);
-- Hashes cannot be compressed.
alter table instance_log_tiles alter column hashes set storage external;

-- A log never shrinks, and no hash of it changes.
create function instance_log_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'the instance log is append-only' using errcode = 'insufficient_privilege';
end $$;

create trigger append_only before update on instance_log_tiles for each row
  when (substring(new.hashes for length(old.hashes)) <> old.hashes
        or (new.log_number, new.level, new.tile_index) <> (old.log_number, old.level, old.tile_index))
  execute function instance_log_refuse();
create trigger no_delete before delete on instance_log_tiles for each row execute function instance_log_refuse();
create trigger no_truncate before truncate on instance_log_tiles for each statement execute function instance_log_refuse();
create trigger append_only before update on instance_logs for each row
  when (new.size < old.size
        or (new.log_number, new.origin, new.verifier_key, new.first_tree_head) <> (old.log_number, old.origin, old.verifier_key, old.first_tree_head)
        or new.previous_checkpoint is distinct from old.previous_checkpoint)
  execute function instance_log_refuse();
create trigger no_delete before delete on instance_logs for each row execute function instance_log_refuse();
create trigger no_truncate before truncate on instance_logs for each statement execute function instance_log_refuse();
