alter table credentials add column name text;

-- A table of its own, without a foreign key: writing a use locks no row of a credential, and issuing a token waits for none.
create table credential_uses (
  credential_id uuid primary key,
  last_used_at timestamptz not null
);

-- The id joins what is known of a secret, so that authentication still reads no page of the table.
create index credentials_by_secret_and_id on credentials (agent_id, secret_hash) include (status, expires_at, credential_id);
drop index credentials_by_secret;
