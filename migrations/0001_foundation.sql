-- Who exists, whose they are, how they prove it, and the log of what happened.

create table organizations (
  organization_id uuid primary key,
  name text not null,
  slug text not null,
  plan_tier text not null check (plan_tier in ('free', 'pro', 'enterprise')),
  -- Null: the plan's own figure holds.
  max_agents integer check (max_agents >= 0),
  max_tokens_per_month integer check (max_tokens_per_month >= 0),
  status text not null check (status in ('active', 'suspended', 'deleted')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
-- A deleted organization keeps its slug, so the index covers every state.
create unique index organizations_slug on organizations (lower(slug));

create table agents (
  agent_id uuid primary key,
  organization_id uuid not null references organizations,
  email text not null,
  agent_type text not null,
  version text not null,
  capabilities text[] not null,
  owner text not null,
  deployment_env text not null,
  status text not null check (status in ('active', 'suspended', 'decommissioned')),
  allowed_scopes text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index agents_email on agents (lower(email));
create index agents_by_organization on agents (organization_id, created_at desc, agent_id desc);

create table credentials (
  credential_id uuid primary key,
  agent_id uuid not null references agents,
  -- SHA-256 of 256 random bits: nothing slower would protect it better.
  secret_hash bytea not null,
  status text not null check (status in ('active', 'revoked')),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index credentials_by_agent on credentials (agent_id, created_at desc, credential_id desc);

-- One partition a day, so that retention drops tables instead of deleting rows. No foreign keys: the log outlives
-- what it speaks of, and a refused request may name an agent that never existed.
create table audit_events (
  event_id uuid not null,
  organization_id uuid not null,
  agent_id uuid not null,
  action text not null,
  outcome text not null check (outcome in ('success', 'failure')),
  ip_address text not null,
  user_agent text not null,
  metadata jsonb not null,
  occurred_at timestamptz not null,
  -- The event as canonical JSON (RFC 8785); the other columns are for searching.
  canonical text not null,
  primary key (occurred_at, event_id)
) partition by range (occurred_at);
create index audit_events_by_organization on audit_events (organization_id, occurred_at desc, event_id desc);
create index audit_events_by_id on audit_events (event_id);

-- Makes the partition of one day (UTC) if it is missing. Attaching, unlike creating in place, lets readers and writers
-- of the other days go on meanwhile.
create function audit_ensure_partition(day date) returns boolean language plpgsql as $$
declare
  partition text := 'audit_events_' || to_char(day, 'YYYYMMDD');
begin
  if to_regclass(partition) is not null then
    return false;
  end if;
  execute format('create table %I (like audit_events including defaults including constraints)', partition);
  execute format(
    'alter table audit_events attach partition %I for values from (%L) to (%L)',
    partition, day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
  );
  return true;
end $$;
