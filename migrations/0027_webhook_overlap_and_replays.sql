-- After a rotation the previous secret signs too, until its time is over. Sealed like signing_secret; erased afterwards.
alter table webhook_subscriptions
  add column previous_signing_secret text,
  add column previous_secret_expires_at timestamptz;
create index webhook_subscriptions_previous_secrets on webhook_subscriptions (previous_secret_expires_at)
  where previous_secret_expires_at is not null;

-- A request to replay many deliveries of a subscription. A worker walks its deliveries in chunks, oldest first. No reference to the
-- subscription: the worker deletes the replays of a deleted one.
create table webhook_replays (
  number bigint generated always as identity primary key,
  subscription_id uuid not null,
  statuses text[] not null,
  until timestamptz not null,
  -- The walk continues after this delivery. At first: the start of the period and the nil UUID.
  after_created_at timestamptz not null,
  after_delivery_id uuid not null,
  -- The replay that was visited the longest time ago is next.
  visited_at timestamptz not null
);
create index webhook_replays_by_subscription on webhook_replays (subscription_id, number);

-- The newest replay that covers the last replay of this delivery: concurrent replays send it once.
alter table webhook_deliveries add column replay_number bigint;
-- For the filter by status, and for replays.
create index webhook_deliveries_by_status on webhook_deliveries (subscription_id, status, created_at desc, delivery_id desc);
