-- What must be known of a secret stands in the index, so that a token request reads no page of the table for it: with a million
-- agents those pages are read from all over the disk.
drop index credentials_by_secret;
create index credentials_by_secret on credentials (agent_id, secret_hash) include (status, expires_at);
