-- Tokens that were revoked before they expired. A row is of no use once the token would have expired anyway.
create table token_revocations (
  token_id uuid primary key,
  agent_id uuid not null,
  revoked_at timestamptz not null,
  expires_at timestamptz not null
);
create index token_revocations_by_expiry on token_revocations (expires_at);
