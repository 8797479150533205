-- Witnesses of the instance log, and the checkpoints that they have cosigned. docs/decisions/026-instance-log.md.

-- What each witness answered last. By the origin of the log: the witnesses are asked before a log has its first row.
create table instance_log_witnesses (
  origin text not null,
  name text not null,
  verifier_key text not null,
  -- The size of the newest checkpoint that it has cosigned, and the time of that cosignature. Proofs begin at that size.
  known_size bigint not null default 0,
  cosigned_at timestamptz,
  -- Why its last answer was no cosignature.
  failing text,
  -- It knows a tree that this log does not continue: a larger one, or another one of this size. A cosignature removes it.
  conflict text check (conflict in ('larger', 'other')),
  conflict_size bigint,
  updated_at timestamptz not null,
  primary key (origin, name)
);

-- Of each log the newest checkpoint after a round of the witnesses, the newest with a cosignature, and the newest with a quorum.
create table instance_log_checkpoints (
  log_number integer not null references instance_logs,
  kind text not null check (kind in ('served', 'cosigned', 'witnessed')),
  size bigint not null,
  -- With the cosignatures.
  note text not null,
  primary key (log_number, kind)
);

-- Since when a checkpoint has waited for a quorum; and the start of the next round, which a running round has moved to its latest end.
alter table instance_logs add column unwitnessed_since timestamptz, add column next_round_at timestamptz;
