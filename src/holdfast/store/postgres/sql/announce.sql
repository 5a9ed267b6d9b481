-- announce: wake the listeners of topics, and those of transactions that have committed.
-- Returns the transactions that are still open. It writes nothing, so its commit waits for no disk.
with watched as materialized (
    select xact, topic, pg_xact_status(xact::text::xid8) as status
      from unnest(%(xact)s::bigint[], %(topic)s::text[]) as given (xact, topic)
), announced as (
    select pg_notify('holdfast_' || topic, '')
      from (
        select unnest(%(topics)s::text[]) as topic
        union
        select topic from watched where status = 'committed'
      ) as due
)
select coalesce(array_agg(xact) filter (where status = 'in progress'), '{}'),
       (select count(*) from announced)
  from watched
