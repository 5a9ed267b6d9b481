-- tail_writers: since when the longest of the transactions is open that have written something.
select (extract(epoch from min(xact_start)) * 1000000)::bigint
  from pg_stat_activity
 where datname = (select datname from pg_stat_activity where pid = pg_backend_pid())
   and backend_xid is not null
