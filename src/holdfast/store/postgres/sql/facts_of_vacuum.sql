-- facts_of_vacuum: dead rows among the jobs, and the oldest transaction that keeps vacuum from them.
with here as (
    select own.datid as id, own.datname as name
      from pg_stat_activity as own
     where own.pid = pg_backend_pid()
), holding as (
    select activity.xact_start as since,
           concat_ws(', ', 'pid ' || activity.pid, nullif(activity.application_name, ''),
                     activity.usename, activity.state) as who
      from pg_stat_activity as activity
      join here on here.id = activity.datid
     where activity.pid <> pg_backend_pid()
       and activity.xact_start is not null
       and (activity.backend_xmin is not null or activity.backend_xid is not null)
    union all
    select prepared.prepared, 'prepared transaction ' || prepared.gid || ', ' || prepared.owner
      from pg_prepared_xacts as prepared
      join here on here.name = prepared.database
), oldest as (
    select * from holding order by since limit 1
), rows as (
    select n_live_tup, n_dead_tup
      from pg_stat_user_tables
     where schemaname = 'holdfast' and relname = 'job'
)
select 'oldest_transaction_at', (extract(epoch from since) * 1000000)::bigint::text from oldest
union all
select 'oldest_transaction', who from oldest
union all
select 'live_rows', n_live_tup::text from rows
union all
select 'dead_rows', n_dead_tup::text from rows
