-- Webhook subscriptions and their deliveries. A delivery is its own job: workers claim rows, and nothing else queues them.

create table webhook_subscriptions (
  subscription_id uuid primary key,
  organization_id uuid not null references organizations,
  name text not null,
  url text not null,
  events text[] not null,
  active boolean not null,
  -- The organization is suspended or deleted: nothing is sent meanwhile.
  halted boolean not null default false,
  -- Sealed with DATA_ENCRYPTION_KEY (kernel/vault.ts), or as it is when there was none.
  signing_secret text not null,
  -- Failed attempts since one last succeeded.
  failure_count integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index webhook_subscriptions_by_organization on webhook_subscriptions (organization_id, created_at, subscription_id);

-- No reference to the subscription: an event must neither wait for, nor fail over, somebody who deletes one just now. What is
-- left without a subscription is swept up.
create table webhook_deliveries (
  delivery_id uuid primary key,
  subscription_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  -- The very text that is signed and sent.
  payload text not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'dead_letter')),
  http_status_code integer,
  attempt_count integer not null default 0,
  attempts jsonb not null default '[]',
  next_retry_at timestamptz,
  delivered_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When it is to be sent; null once it is settled.
  due_at timestamptz,
  -- Whoever holds it, and until when: only the holder of this very claim may settle it.
  claim uuid,
  claimed_until timestamptz
)
-- Rows change all the time: what is dead must not lie in the way of the next claim.
with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index webhook_deliveries_due on webhook_deliveries (subscription_id, due_at) where due_at is not null;
-- Tests are sent to inactive receivers too: found without reading all that waits there.
create index webhook_deliveries_tests on webhook_deliveries (subscription_id, due_at)
  where due_at is not null and event_type = 'webhook.test';
create index webhook_deliveries_by_time on webhook_deliveries (subscription_id, created_at desc, delivery_id desc);
