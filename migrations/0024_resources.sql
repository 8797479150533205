-- The customers' own APIs, the organizations they are shared with, and which of their scopes an agent may hold.

-- A deleted resource keeps its row: its identifier stays reserved for its former owner.
create table resources (
  resource_id uuid primary key,
  organization_id uuid not null references organizations,
  -- The audience of its tokens.
  identifier text not null unique,
  name text not null,
  description text,
  -- [{"name", "description"}], in the owner's order.
  scopes jsonb not null,
  token_lifetime_seconds integer not null,
  claims text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);

create index resources_by_organization on resources (organization_id, created_at desc, resource_id desc) where deleted_at is null;

create table resource_shares (
  resource_id uuid not null references resources on delete cascade,
  organization_id uuid not null references organizations,
  scopes text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (resource_id, organization_id)
);

create index resource_shares_by_organization on resource_shares (organization_id, resource_id);

-- Never more than the resource and the share have: narrowing either narrows the grants in the same transaction.
create table resource_grants (
  agent_id uuid not null references agents,
  resource_id uuid not null references resources on delete cascade,
  -- The agent's organization, which never changes.
  organization_id uuid not null references organizations,
  -- {"scope": the time since when the agent has held it}. A token with a scope is valid only if it was issued after that time: a token
  -- that ended with its scope stays ended when the scope is granted again.
  scopes jsonb not null,
  granted_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (agent_id, resource_id)
);

create index resource_grants_by_resource on resource_grants (resource_id, organization_id, created_at desc, agent_id desc);

-- Operators hold every scope. Their own scope lets them take these anyway.
update agents set allowed_scopes = allowed_scopes || array['resources:read', 'resources:write']
where 'admin:orgs' = any (allowed_scopes) and not allowed_scopes && array['resources:read', 'resources:write'];
