-- insert_alike: store plain new jobs that differ in payload, time and rank alone.
-- The commonest bulk. Only their ids could be taken, and then they were stored before.
insert into holdfast.job (
    id, pipeline, plan, queue, priority, owner, version, payload, created_at, stage, run_at,
    updated_at
)
select id, %(pipeline)s, %(plan)s, %(queue)s, priority, %(owner)s, %(version)s, payload,
       %(created_at)s, %(stage)s, run_at, %(created_at)s
  from unnest(
    %(id)s::uuid[], %(priority)s::smallint[], %(payload)s::text[], %(run_at)s::bigint[]
  ) as new (id, priority, payload, run_at)
