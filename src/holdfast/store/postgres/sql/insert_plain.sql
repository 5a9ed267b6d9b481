-- insert_plain: store one new job that has no key, deadline or trace.
-- The commonest. Only its id could be taken, and then it was stored before.
insert into holdfast.job (
    id, pipeline, plan, queue, priority, owner, version, payload, created_at, stage, run_at,
    updated_at
)
values (
    %(id)s, %(pipeline)s, %(plan)s, %(queue)s, %(priority)s, %(owner)s, %(version)s, %(payload)s,
    %(created_at)s, %(stage)s, %(run_at)s, %(created_at)s
)
