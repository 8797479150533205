-- Runs once, when the database server starts with an empty volume. Countersign owns its database and is no superuser: a superuser
-- could switch off the triggers that protect the audit log.
\set password `cat /run/secrets/database-password`
create role countersign login password :'password';
create database countersign owner countersign;
revoke all on database countersign from public;
