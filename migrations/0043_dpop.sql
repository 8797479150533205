-- Proofs of possession (DPoP, RFC 9449): who must send them, which keys codes and refresh tokens are bound to, and the used proofs.

alter table agents add column dpop_bound_access_tokens boolean not null default false;

-- RFC 7638 thumbprints.
alter table authorization_requests add column dpop_jkt text;
alter table authorization_codes add column dpop_jkt text;
alter table refresh_tokens add column dpop_jkt text;

-- Each proof is valid once, on all nodes.
create table used_proofs (
  -- The first 128 bits of SHA-256 over the thumbprint of the key and the jti of the proof.
  proof_id bytea primary key,
  expires_at timestamptz not null
);
create index used_proofs_by_expiry on used_proofs (expires_at);
