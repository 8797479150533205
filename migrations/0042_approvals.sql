-- Approvals: an agent asks a person for an action, and the answer is a delegation of that person. docs/decisions/024-approvals.md.

-- [{"type", "description", "schema"}]: the actions of an API that a request can name (RFC 9396).
alter table resources add column authorization_detail_types jsonb not null default '[]';

-- What exactly was approved: tokens of the chain carry it. Null: the scopes alone say it.
alter table delegations add column authorization_details jsonb;

-- Where the agent learns that a request was decided (CIBA, ping mode).
alter table agents
  add column notification_uri text,
  -- The person who registered the agent through the console.
  add column registered_by uuid;

-- No row: the defaults.
create table approval_policies (
  organization_id uuid primary key references organizations,
  max_access_seconds integer not null,
  self_approval boolean not null,
  -- Identifiers of resources for which two people must approve.
  require_two text[] not null,
  updated_at timestamptz not null
);

create table approvals (
  approval_id uuid primary key,
  -- SHA-256 of the auth_req_id, which has 256 random bits.
  auth_req_hash bytea not null unique,
  organization_id uuid not null references organizations,
  agent_id uuid not null references agents,
  -- The audience, and the resource that it meant; null: our own API. The row of a deleted resource goes when its identifier is used again.
  audience text not null,
  resource_id uuid,
  -- As requested; once it is approved, as granted.
  scopes text[] not null,
  authorization_details jsonb,
  binding_message text,
  -- Null: the approvers of the resource.
  person_id uuid,
  -- As requested; once it is approved, as granted.
  access_seconds integer not null,
  status text not null check (status in ('pending', 'approved', 'denied', 'expired', 'canceled')),
  -- [{"personId", "at", "scopes", "accessExpiresIn", "allowRedelegation"}], one per person who has approved.
  approvals jsonb not null default '[]',
  decided_by uuid,
  decided_at timestamptz,
  chain_id uuid references delegations on delete set null,
  -- Encrypted by the vault: {"authReqId", "token"} for the notification of the agent.
  ping text,
  -- Polling: the seconds that the agent has to wait, and its last request.
  poll_seconds integer not null,
  polled_at timestamptz,
  -- The auth_req_id has given its tokens.
  redeemed_at timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index approvals_by_organization on approvals (organization_id, created_at desc, approval_id desc);
create index approvals_by_agent on approvals (agent_id, created_at desc, approval_id desc);
create index approvals_by_person on approvals (person_id, created_at desc, approval_id desc) where person_id is not null;
create index approvals_pending on approvals (organization_id, expires_at) where status = 'pending';
create index approvals_pending_by_expiry on approvals (expires_at) where status = 'pending';
create index approvals_decided_by_expiry on approvals (expires_at) where status <> 'pending';
create index approvals_by_resource on approvals (resource_id) where resource_id is not null;
create index approvals_by_chain on approvals (chain_id) where chain_id is not null;
create index approvals_with_ping on approvals (approval_id) where ping is not null;

-- What is still to be told: an agent by ping, a person by mail.
create table approval_notifications (
  notification_id uuid primary key,
  approval_id uuid not null references approvals on delete cascade,
  kind text not null check (kind in ('ping', 'mail')),
  -- Of a mail.
  person_id uuid,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- Nothing is sent later.
  expires_at timestamptz not null
);
create index approval_notifications_by_time on approval_notifications (next_attempt_at);
create index approval_notifications_by_approval on approval_notifications (approval_id);
