-- A token's policies are looked for organization by organization, oldest first: however many one of them has written, the
-- others' are found by as many steps as before.
create index trust_policies_in_turn on trust_policies (issuer, subject_head, organization_id, created_at, policy_id)
  where status = 'active';
drop index trust_policies_by_issuer;
