-- Trust policies give scopes of registered resources, beside the scopes of our own API: [{"identifier", "scopes"}].
alter table trust_policies add column resources jsonb not null default '[]';

-- Delegations are also listed by the agent on whose behalf the others act.
create index delegations_by_subject on delegations (subject_id, created_at desc, chain_id desc);
