-- Requests with an Idempotency-Key that created something. The row commits with the change; the response is added after it.
create table idempotency_keys (
  -- The agent and a hash of its token's scopes and delegation. A key means nothing to another caller.
  caller text not null,
  key_hash bytea not null,
  -- Of the operation, the path and the body.
  request_hash bytea not null,
  created_id text not null,
  -- Sealed with DATA_ENCRYPTION_KEY if there is one. Null: the response cannot be repeated.
  response text,
  created_at timestamptz not null,
  primary key (caller, key_hash)
);

create index idempotency_keys_by_time on idempotency_keys (created_at);
