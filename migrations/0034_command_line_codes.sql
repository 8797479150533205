-- One-time codes that sign in the command line, and the sessions that they begin. docs/decisions/015-console-sessions.md.
-- A node of the previous version redeems no codes. It ends a session of the command line after 30 minutes without a request.

alter table console_sessions
  drop constraint console_sessions_method_check,
  add constraint console_sessions_method_check check (method in ('client', 'link', 'oidc', 'command-line')),
  -- The session that made the code. Signing out of it ends this one too, on a node of the previous version as well.
  add column made_by uuid references console_sessions on delete cascade;
create index console_sessions_by_maker on console_sessions (made_by) where made_by is not null;

create table console_codes (
  -- One code per session: a new one replaces it.
  session_id uuid primary key references console_sessions on delete cascade,
  -- SHA-256 of the 256 random bits in the code.
  code_hash bytea not null unique,
  expires_at timestamptz not null
);
