-- The archive of the audit log: days that are over, each of an organization one file in object storage. docs/decisions/028-audit-archive.md.

-- The files that were read back and verified. Retention drops a day only when its files are here.
create table audit_archives (
  organization_id uuid not null,
  day date not null,
  events bigint not null,
  -- Of the compressed file.
  bytes bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  -- The hash of the last link of the day.
  chain_head bytea not null check (octet_length(chain_head) = 32),
  -- The name of the file, relative to the prefix of AUDIT_ARCHIVE_URL.
  object text not null,
  created_at timestamptz not null,
  primary key (organization_id, day)
);
create index audit_archives_by_day on audit_archives (day, organization_id);

-- One row.
create table audit_archive_state (
  only_row boolean primary key default true check (only_row),
  -- The sequencer links nothing more under a day through this one: its files are complete, also when the clocks of nodes differ.
  closed_through date,
  -- Until then one process has a round. It renews the lease while it works.
  round_ends_at timestamptz,
  -- The last day on which events waited for their links for a week or longer: they are in a file of that day, or of the next one.
  linked_late_on date
);
insert into audit_archive_state default values;
