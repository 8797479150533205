-- The proofs that a workload made by its token: agents, credentials, keys, trust policies, people, sessions and delegations. A proof that
-- was made by one of them has the same rows. A caller with such a proof cannot give power to the agent of the workload
-- (docs/decisions/005-power-is-more-than-scopes.md).
create table provisioned_proofs (
  -- The id of the agent, credential, trust policy, person, session or delegation; for keys, the id of their agent and the word "keys".
  proof_id text not null,
  -- The agent of the workload.
  provisioner_id uuid not null,
  -- Of a session and a delegation. Null for a proof that does not end by itself.
  expires_at timestamptz,
  primary key (proof_id, provisioner_id)
);
create index provisioned_proofs_by_expiry on provisioned_proofs (expires_at) where expires_at is not null;

-- The trust policy of the workload that made the link. The link ends with the policy. No foreign key: the link outlives the policy's row.
alter table delegations add column trust_policy_id uuid;
create index delegations_by_trust_policy on delegations (trust_policy_id) where trust_policy_id is not null;

-- The key that signed the client's assertion, for a link that was made with a token for one.
alter table console_links add column key_id text;
