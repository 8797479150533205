-- What organizations pay for: the subscription each has with the payment provider, the pages that lead there, and
-- which of the provider's events were acted on.

create table billing_subscriptions (
  organization_id uuid primary key references organizations,
  provider text not null check (provider in ('stripe', 'embedded')),
  customer_id text not null,
  subscription_id text not null,
  tier text not null check (tier in ('pro', 'enterprise')),
  status text not null check (status in ('incomplete', 'active', 'past_due', 'canceled')),
  -- The plan that this subscription has put in force; null while it gives none.
  granted_tier text check (granted_tier in ('pro', 'enterprise')),
  current_period_end timestamptz,
  cancel_at_period_end boolean not null,
  -- When the provider made it: of two that are alive the later one counts.
  subscribed_at timestamptz not null,
  -- The moment at the provider that all this describes: events from before it are late.
  as_of timestamptz not null,
  updated_at timestamptz not null
);
create index billing_subscriptions_by_id on billing_subscriptions (provider, subscription_id);
create index billing_subscriptions_by_customer on billing_subscriptions (provider, customer_id);

-- Addresses given out. Only the embedded provider's have a token, since only those lead to pages of ours.
create table billing_sessions (
  session_id text primary key,
  kind text not null check (kind in ('checkout', 'portal')),
  provider text not null check (provider in ('stripe', 'embedded')),
  organization_id uuid not null references organizations,
  -- Who asked for it.
  agent_id uuid not null,
  target_tier text check (target_tier in ('pro', 'enterprise')),
  token_hash bytea unique,
  started_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index billing_sessions_by_organization on billing_sessions (organization_id, expires_at);
create index billing_sessions_by_expiry on billing_sessions (expires_at);

create table billing_events (
  provider text not null,
  event_id text not null,
  event_type text not null,
  received_at timestamptz not null,
  primary key (provider, event_id)
);
create index billing_events_by_time on billing_events (received_at);
