-- Agents that act for a person: OpenID providers of organizations, people who sign in through them, clients, and consents.
-- docs/decisions/023-people.md.

-- The OpenID providers whose people may sign in to an organization.
create table connections (
  connection_id uuid primary key,
  organization_id uuid not null references organizations,
  name text not null,
  issuer text not null,
  client_id text not null,
  -- Encrypted by the vault.
  client_secret text not null,
  scopes text[] not null,
  -- [{"claim", "operator", "values"}], on the ID token.
  conditions jsonb not null,
  status text not null check (status in ('active', 'disabled')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (organization_id, issuer, client_id)
);
create index connections_by_organization on connections (organization_id, created_at desc, connection_id desc);

-- An invitation by e-mail has no issuer and subject until a person with that verified address signs in through its connection. A member
-- acts through no agent.
alter table people
  alter column issuer drop not null,
  alter column subject drop not null,
  alter column agent_id drop not null,
  add column email text,
  add column connection_id uuid references connections on delete set null,
  add column status text not null default 'active' check (status in ('active', 'suspended')),
  -- An administrator has invited the person, or given a role with an agent: the instance's own provider admits the person too.
  add column invited boolean not null default true,
  drop constraint people_role_check,
  add constraint people_role_check check (role in ('admin', 'viewer', 'member')),
  add constraint people_agent_check check ((role = 'member') = (agent_id is null)),
  add constraint people_identity_check check ((issuer is null) = (subject is null));
create unique index people_by_invited_email on people (connection_id, lower(email)) where issuer is null;
create index people_by_connection on people (connection_id) where connection_id is not null;

-- The session of a member has no agent. A session through a connection ends with it.
alter table console_sessions
  alter column agent_id drop not null,
  add column connection_id uuid;
create index console_sessions_by_connection on console_sessions (connection_id) where connection_id is not null;

-- The provider of a sign-in (null: the instance's own), and the authorization request that it continues. A test shows the claims to an
-- administrator and begins no session.
alter table provider_sign_ins
  add column connection_id uuid references connections on delete cascade,
  add column request_id uuid,
  add column tester_id uuid,
  add column claims jsonb;

-- What people may lend.
alter table resources
  add column people_scopes text[] not null default '{}',
  -- Ids of people who may lend every scope.
  add column approvers uuid[] not null default '{}';

-- Agents as OAuth clients. A client that came by a metadata document has its address, and what the last consent stored of the document.
alter table agents
  add column redirect_uris text[] not null default '{}',
  add column public_client boolean not null default false,
  add column client_uri text,
  add column client_document jsonb;
create unique index agents_by_client_uri on agents (organization_id, client_uri) where client_uri is not null;

-- Which clients with a metadata document an organization admits. No row: any.
create table client_policies (
  organization_id uuid primary key references organizations,
  mode text not null check (mode in ('any', 'domains', 'approval', 'off')),
  domains text[] not null,
  updated_at timestamptz not null
);

-- A chain may begin with a person, whose id is then in subject_id and delegator_id.
alter table delegations
  drop constraint delegations_subject_id_fkey,
  drop constraint delegations_delegator_id_fkey,
  add column subject_type text not null default 'agent' check (subject_type in ('agent', 'person')),
  add column delegator_type text not null default 'agent' check (delegator_type in ('agent', 'person')),
  add column origin text not null default 'api' check (origin in ('api', 'consent', 'approval', 'assertion', 'console'));
create index delegations_by_person on delegations (subject_id, created_at desc, chain_id desc) where subject_type = 'person';

-- Requests at the authorization endpoint that wait for the person. They belong to one browser, which has a cookie with the secret.
create table authorization_requests (
  request_id uuid primary key,
  browser_hash bytea not null,
  -- Null until the person has chosen.
  organization_id uuid references organizations,
  -- The registered client, or the address of a document and its contents.
  client_agent_id uuid references agents,
  client_uri text,
  client_document jsonb,
  redirect_uri text not null,
  -- The request named it, so the token request must repeat it.
  redirect_uri_named boolean not null,
  code_challenge text not null,
  -- The audience.
  resource text not null,
  -- Null: all that the person may lend.
  scopes text[],
  state text,
  prompt text[] not null,
  login_hint text,
  authorization_details jsonb,
  -- A page of another site may have begun it: it ends at the consent page.
  foreign_start boolean not null,
  -- The person who has signed in for this request.
  person_id uuid,
  expires_at timestamptz not null,
  decided_at timestamptz
);
create index authorization_requests_by_expiry on authorization_requests (expires_at);

create table authorization_codes (
  -- SHA-256 of 256 random bits.
  code_hash bytea primary key,
  chain_id uuid not null references delegations on delete cascade,
  agent_id uuid not null references agents,
  redirect_uri text not null,
  redirect_uri_named boolean not null,
  code_challenge text not null,
  resource text not null,
  scopes text[] not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index authorization_codes_by_chain on authorization_codes (chain_id);
create index authorization_codes_by_expiry on authorization_codes (expires_at);

-- A used one stays until its chain is deleted: its second use ends the chain.
create table refresh_tokens (
  -- SHA-256 of 256 random bits.
  token_hash bytea primary key,
  chain_id uuid not null references delegations on delete cascade,
  agent_id uuid not null references agents,
  resource text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  used_at timestamptz,
  -- The token that replaced it, readable only with this one: for a client whose answer was lost.
  successor bytea
);
create index refresh_tokens_by_chain on refresh_tokens (chain_id);
