-- Refusals of unauthenticated requests, per organization and minute: beyond a limit they are counted here instead of recorded in
-- the audit log. A loop removes each row when its minute is over, and records how many were not recorded.
create table refusal_counts (
  organization_id uuid not null,
  minute timestamptz not null,
  refused integer not null,
  last_agent_id uuid not null,
  last_reason text not null,
  primary key (organization_id, minute)
);
create index refusal_counts_by_minute on refusal_counts (minute);

-- Without client_id, disabled policies count too: they show that a caller belongs to another organization.
create index trust_policies_by_subject on trust_policies (issuer, subject_head, organization_id, created_at, policy_id);
drop index trust_policies_in_turn;
