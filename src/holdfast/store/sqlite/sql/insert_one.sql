-- insert_one: store one new job unless its key is taken or it is stored already.
insert into holdfast_job (
    id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
    trace, created_at, stage, run_at, deadline_at, updated_at
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing
