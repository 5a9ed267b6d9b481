-- insert: store new jobs; one whose key is taken is left out, and so is one stored already.
-- Keys are looked for as in insert_one; uses job_key and kept_key_pkey.
-- With those that are due comes the number of this transaction.
with given as (
    select *
      from unnest(
        %(id)s::uuid[], %(pipeline)s::text[], %(plan)s::text[], %(queue)s::text[],
        %(priority)s::smallint[], %(owner)s::text[], %(key)s::text[], %(version)s::integer[],
        %(rerun_of)s::uuid[], %(payload)s::text[], %(fingerprint)s::text[], %(trace)s::text[],
        %(created_at)s::bigint[], %(stage)s::text[], %(run_at)s::bigint[],
        %(deadline_at)s::bigint[]
      ) as new (
        id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
        trace, created_at, stage, run_at, deadline_at
      )
), inserted as (
    insert into holdfast.job (
        id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, fingerprint,
        trace, created_at, stage, run_at, deadline_at, updated_at
    )
    select given.*, given.created_at
      from given
     where given.key is null
        or given.rerun_of is not null
        or (
            select 1
              from holdfast.job as twin
             where twin.owner = given.owner
               and twin.pipeline = given.pipeline
               and twin.key = given.key
               and twin.rerun_of is null
             limit 1
           ) is null
       and (
            select 1
              from holdfast.kept_key as kept
             where kept.owner = given.owner
               and kept.pipeline = given.pipeline
               and kept.key = given.key
             limit 1
           ) is null
    on conflict do nothing
    returning id, case when run_at <= created_at then xact end as due_in
)
select id::text, due_in from inserted
