-- Shared signals: what ends tokens, for the APIs that verify tokens themselves (SSF 1.0, CAEP 1.0). docs/decisions/025-signals-possession-assertions.md.

create table signal_streams (
  stream_id uuid primary key,
  organization_id uuid not null references organizations,
  -- Of the receiver: the audience of its signals.
  agent_id uuid not null references agents,
  method text not null check (method in ('poll', 'push')),
  -- Of the receiver of a push stream.
  endpoint_url text,
  -- Encrypted by the vault.
  authorization_header text,
  -- Null: all events.
  events_requested text[],
  description text,
  status text not null check (status in ('enabled', 'paused', 'disabled')),
  status_reason text,
  -- A poll stream that nobody polls for this long is deleted; null: never.
  inactivity_timeout integer,
  last_polled_at timestamptz not null,
  -- When a worker may send to a push stream next: after a pause, or after the lease of another worker.
  push_due_at timestamptz not null,
  push_lease uuid,
  -- Since a send last succeeded.
  push_failures integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index signal_streams_by_organization on signal_streams (organization_id, created_at, stream_id);
create index signal_streams_push on signal_streams (push_due_at) where method = 'push' and status = 'enabled';

-- Subjects that the receiver does not want.
create table signal_exclusions (
  stream_id uuid not null references signal_streams on delete cascade,
  -- Of the subject identifier.
  subject_hash bytea not null,
  primary key (stream_id, subject_hash)
);

-- One row per organization that learns of it, written with the end. The ids sort by time.
create table signals (
  signal_id uuid primary key,
  organization_id uuid not null references organizations,
  -- Of a signal for one stream only: a verification.
  stream_id uuid,
  event_type text not null,
  subject jsonb not null,
  details jsonb not null,
  occurred_at timestamptz not null,
  -- Whether it is in the queues of the streams.
  distributed boolean not null default false
);
create index signals_undistributed on signals (organization_id, signal_id) where not distributed;
create index signals_by_organization on signals (organization_id, occurred_at);
create index signals_by_time on signals (occurred_at);

-- The queue of a stream. No references: the end of a token neither waits for, nor fails over, a stream that is deleted at the same time.
create table signal_deliveries (
  stream_id uuid not null,
  signal_id uuid not null,
  queued_at timestamptz not null,
  -- Push: not before this time.
  due_at timestamptz not null,
  attempts integer not null default 0,
  primary key (stream_id, signal_id)
);
create index signal_deliveries_by_signal on signal_deliveries (signal_id);
create index signal_deliveries_by_time on signal_deliveries (queued_at);
