-- People who sign in to the console through an OpenID provider. The provider's issuer and subject identify a person, never an e-mail.
create table people (
  person_id uuid primary key,
  organization_id uuid not null references organizations,
  issuer text not null,
  subject text not null,
  name text not null,
  role text not null check (role in ('admin', 'viewer')),
  -- The agent through which the person acts.
  agent_id uuid not null references agents,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_sign_in_at timestamptz,
  unique (issuer, subject, organization_id)
);
create index people_by_organization on people (organization_id, created_at desc, person_id desc);

create index console_sessions_by_person on console_sessions (person_id) where person_id is not null;

-- Sign-ins through the provider that have begun. The browser has a cookie, from which state, nonce and PKCE verifier are derived; here is
-- only its hash.
create table provider_sign_ins (
  sign_in_hash bytea primary key,
  -- A path of the console.
  return_to text not null,
  expires_at timestamptz not null,
  -- The provider's answer is accepted once.
  answered_at timestamptz,
  -- The verified identity, while the person has no session yet.
  issuer text,
  subject text
);
create index provider_sign_ins_by_expiry on provider_sign_ins (expires_at);
