-- Sessions of the console and one-time links. docs/decisions/015-console-sessions.md.

create table console_sessions (
  session_id uuid primary key,
  -- SHA-256 of the 256 random bits in the cookie.
  secret_hash bytea not null,
  method text not null check (method in ('client', 'link', 'oidc')),
  agent_id uuid not null references agents,
  organization_id uuid not null,
  -- Null when no client secret was used: the session then depends on the agent and the organization alone.
  credential_id uuid references credentials,
  -- The person who signed in through an OpenID provider, and acts as the agent.
  person_id uuid,
  scopes text[] not null,
  created_at timestamptz not null,
  -- Accurate to a minute. Without an index, so that writing it writes no index.
  last_used_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index console_sessions_by_secret on console_sessions (secret_hash);
create index console_sessions_by_agent on console_sessions (agent_id);
create index console_sessions_by_organization on console_sessions (organization_id);

create table console_links (
  -- SHA-256 of the 256 random bits in the address.
  code_hash bytea primary key,
  agent_id uuid not null references agents,
  organization_id uuid not null,
  credential_id uuid references credentials,
  scopes text[] not null,
  expires_at timestamptz not null
);
