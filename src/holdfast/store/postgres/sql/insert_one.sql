-- insert_one: store one new job unless its key is taken or it is stored already, and announce it.
insert into holdfast.job (
    id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
    trace, created_at, stage, run_at, deadline_at, updated_at
)
values (
    %(id)s, %(pipeline)s, %(plan)s, %(queue)s, %(priority)s, %(owner)s, %(key)s, %(version)s,
    %(rerun_of)s, %(payload)s, %(fingerprint)s, %(trace)s, %(created_at)s, %(stage)s,
    %(run_at)s, %(deadline_at)s, %(created_at)s
)
on conflict do nothing
returning id::text, case when run_at <= created_at then pg_notify('holdfast_due', '') end
