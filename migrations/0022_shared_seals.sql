-- While signing keys are rotated, nodes with different private keys write events into one log. Each key shares its seal key
-- with the other published keys: encrypted for the recipient, signed by the sharer. docs/decisions/006-audit-chain.md.
create table audit_shared_seals (
  number bigint generated always as identity primary key,
  key_id text not null,
  recipient text not null,
  signed text not null
);

create trigger append_only before update or delete on audit_shared_seals for each row execute function audit_refuse();
create trigger no_truncate before truncate on audit_shared_seals for each statement execute function audit_refuse();
