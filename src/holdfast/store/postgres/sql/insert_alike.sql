-- insert_alike: store and announce plain new jobs that differ in payload, time and rank alone.
-- The commonest bulk. Only their ids could be taken, and then they were stored before.
with inserted as (
    insert into holdfast.job (
        id, pipeline, plan, queue, priority, owner, version, payload, created_at, stage, run_at,
        updated_at
    )
    select id, %(pipeline)s, %(plan)s, %(queue)s, priority, %(owner)s, %(version)s, payload,
           %(created_at)s, %(stage)s, run_at, %(created_at)s
      from unnest(
        %(id)s::uuid[], %(priority)s::smallint[], %(payload)s::text[], %(run_at)s::bigint[]
      ) as new (id, priority, payload, run_at)
    returning run_at <= created_at as due
)
select case when bool_or(due) then pg_notify('holdfast_due', '') end from inserted
