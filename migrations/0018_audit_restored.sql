-- A dump that is restored into another server brings along ids of transactions that mean something else there. So the row says
-- which transaction wrote it: where that is not the one that has (xmin), the row came by a restore or by hand, and the
-- sequencer goes over the whole log once. Ids alone would not tell: the other server may have come further or less far.
alter table audit_progress add column written_in xid8 not null default '0';

-- From here on `reached` says: no event appended by a later transaction has a link yet. An earlier version lowered it after a
-- restore, below events that had links.
update audit_progress set
  written_in = pg_current_xact_id(),
  reached = greatest(reached, (select appended_in from audit_events order by appended_in desc limit 1));
