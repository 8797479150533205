-- Trust policies: who outside may become which agent, by tokens that another issuer has signed.
create table trust_policies (
  policy_id uuid primary key,
  organization_id uuid not null references organizations,
  agent_id uuid not null references agents,
  name text not null,
  provider text not null
    check (provider in ('github', 'gitlab', 'kubernetes', 'aws', 'gcp', 'azure', 'spiffe', 'custom')),
  issuer text not null,
  jwks_uri text,
  audiences text[] not null,
  subject text,
  -- What every matching subject begins with: a token's policies are found by the beginnings of its own subject.
  subject_head text not null,
  conditions jsonb not null,
  scopes text[] not null,
  max_token_age_seconds integer not null,
  single_use boolean not null,
  status text not null check (status in ('active', 'disabled')),
  -- A hash of whom it lets in: there are no two of the same for one agent.
  lets_in bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (agent_id, lets_in)
);
create index trust_policies_by_organization on trust_policies (organization_id, created_at desc, policy_id desc);
create index trust_policies_by_time on trust_policies (created_at desc, policy_id desc);
create index trust_policies_by_issuer on trust_policies (issuer, subject_head);

-- Apart, so that many who come in by one policy need not wait for one another to write this.
create table trust_policy_uses (
  policy_id uuid primary key references trust_policies on delete cascade,
  last_used_at timestamptz not null
);

-- Outside tokens that were exchanged and count once; a hash of the issuer and the token's id, until it would have expired.
create table used_outside_tokens (
  token_key bytea primary key,
  expires_at timestamptz not null
);
create index used_outside_tokens_by_expiry on used_outside_tokens (expires_at);
