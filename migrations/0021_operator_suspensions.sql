-- A suspension by the operator is lifted by an operator only. Earlier suspensions count as the organization's own.
alter table agents add column suspended_by_operator boolean not null default false;

-- Whether the caller who opened a checkout page had shown the right to manage the organization's billing. A page that was opened
-- without it serves the first payment only.
alter table billing_sessions add column managed boolean not null default false;
