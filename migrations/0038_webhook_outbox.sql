-- The transaction of an event writes one row here, with the subscriptions that match at that time. The fan-out moves the row to
-- `webhook_deliveries`, one delivery for each subscription, in one statement. So the cost of a commit does not depend on the number of
-- subscriptions, and a fan-out that is killed is repeated as a whole. Deliveries that an earlier version writes itself are sent as before.
create table webhook_outbox (
  organization_id uuid not null,
  -- The order of an organization's events.
  position bigint generated always as identity,
  event_id uuid not null,
  event_type text not null,
  -- The text that is signed and sent.
  payload text not null,
  subscription_ids uuid[] not null,
  occurred_at timestamptz not null,
  -- By organization first: organizations take turns.
  primary key (organization_id, position)
) with (
  -- Every row is deleted soon.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
