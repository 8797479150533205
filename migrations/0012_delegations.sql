-- Who may act on whose behalf, within what, until when. A row is a link; the links from a root down to one agent are a chain,
-- named by its last link.

create table delegations (
  chain_id uuid primary key,
  parent_chain_id uuid references delegations,
  -- Its own for a root. Whoever gives out something below a root holds that row for share; whoever ends something, for itself.
  root_chain_id uuid not null references delegations,
  -- The ids of the links, root first, its own last.
  path uuid[] not null,
  depth smallint not null check (depth between 1 and 5 and depth = cardinality(path)),
  organization_id uuid not null references organizations,
  subject_id uuid not null references agents,
  delegator_id uuid not null references agents,
  delegatee_id uuid not null references agents check (delegatee_id <> delegator_id),
  scopes text[] not null,
  resource text[],
  purpose text,
  allow_redelegation boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);

create index delegations_by_delegator on delegations (delegator_id, created_at desc, chain_id desc);
create index delegations_by_delegatee on delegations (delegatee_id, created_at desc, chain_id desc);
create index delegations_by_root on delegations (root_chain_id);
create index delegations_by_parent on delegations (parent_chain_id);
create index delegations_by_expiry on delegations (expires_at);
