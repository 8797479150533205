-- Whether tokens by this trust policy have the role admin of the agent. Without it a workload has the scopes of its token only.
alter table trust_policies add column acts_as_admin boolean not null default false;
