-- How many deliveries were given up, ever: the deliveries themselves are sent again or swept up. Written by whichever process gave
-- up, shown by those that answer /metrics, which may be others.
create table webhook_dead_letters (
  event_type text primary key,
  count bigint not null
);
