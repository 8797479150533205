-- An event's id is made of its time, so the primary key finds it as well, and every event costs one index entry less.
drop index audit_events_by_id;
