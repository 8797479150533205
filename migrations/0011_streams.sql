-- What is still to be published to a broker: one row for each event and stream, written in the transaction of the change and
-- deleted once the broker has it. Nothing is written where no broker is configured.
--
-- The order is that of `position`. It is taken when the row is written, at the end of the change and under its locks, so a
-- change that came after another has the greater one; and whoever sees the later row sees the earlier one too. Rows are
-- deleted one by one, never "up to": a transaction that commits late may bring a smaller position, and is not skipped.
create table stream_outbox (
  stream text not null check (stream in ('kafka', 'nats')),
  position bigint generated always as identity,
  event_id uuid not null,
  organization_id uuid not null,
  type text not null,
  envelope text not null,
  primary key (stream, position)
) with (
  -- Everything that is written here is deleted soon.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
