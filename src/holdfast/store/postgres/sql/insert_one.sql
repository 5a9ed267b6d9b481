-- insert_one: store one new job unless its key is taken or it is stored already.
-- A key whose job is removed at this moment is taken by one or the other: both are looked for in
-- one snapshot. Uses job_key and kept_key_pkey.
-- With one that is due comes the number of this transaction.
insert into holdfast.job (
    id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
    trace, created_at, stage, run_at, deadline_at, updated_at
)
select %(id)s, %(pipeline)s, %(plan)s, %(queue)s, %(priority)s, %(owner)s, %(key)s, %(version)s,
       %(rerun_of)s, %(payload)s, %(fingerprint)s, %(trace)s, %(created_at)s, %(stage)s,
       %(run_at)s, %(deadline_at)s, %(created_at)s
 where %(rerun_of)s::uuid is not null
    or (
        select 1
          from holdfast.job as twin
         where twin.owner = %(owner)s
           and twin.pipeline = %(pipeline)s
           and twin.key = %(key)s
           and twin.rerun_of is null
         limit 1
       ) is null
   and (
        select 1
          from holdfast.kept_key as kept
         where kept.owner = %(owner)s
           and kept.pipeline = %(pipeline)s
           and kept.key = %(key)s
           and kept.version >= %(from_version)s
         limit 1
       ) is null
on conflict do nothing
returning id::text, case when run_at <= created_at then xact end
