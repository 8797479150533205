-- Identity assertions (ID-JAG): an organization accepts those of a connection's provider, and the instance issues them for a partner.
alter table connections add column id_jag boolean not null default false;
alter table federation_partners add column id_jag boolean not null default false;

-- A JWT-SVID may name no issuer. Its policies are then found by its subject.
create index trust_policies_of_spiffe on trust_policies (subject_head, issuer) where provider = 'spiffe';
