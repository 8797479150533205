-- Indexes for the filters of lists.

-- The members of an organization are listed by time, all of them or those with a role.
create index memberships_by_time on memberships (organization_id, joined_at desc, member_id desc);
create index memberships_by_role on memberships (organization_id, role, joined_at desc, member_id desc);

-- `q` is a prefix of either. Without the organization: an operator searches in all, and a prefix is selective by itself.
create index agents_by_email_prefix on agents (lower(email) text_pattern_ops);
create index agents_by_owner_prefix on agents (lower(owner) text_pattern_ops);

create index agents_by_env on agents (organization_id, deployment_env, created_at desc, agent_id desc);
create index agents_by_capability on agents using gin (capabilities);
