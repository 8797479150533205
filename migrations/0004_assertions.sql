-- Client assertions (RFC 7523) that were used: each counts once, until it would have expired anyway.
create table used_assertions (
  agent_id uuid not null,
  assertion_id text not null,
  expires_at timestamptz not null,
  primary key (agent_id, assertion_id)
);
create index used_assertions_by_expiry on used_assertions (expires_at);
