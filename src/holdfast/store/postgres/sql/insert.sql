-- insert: store new jobs; one whose key is taken is left out, and so is one stored already.
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
    select given.*, given.created_at from given
    on conflict do nothing
    returning id, run_at, created_at
), announced as (
    select pg_notify('holdfast_due', '')
      from (select from inserted where run_at <= created_at limit 1) as due
)
select id::text from inserted
 where (select count(*) from announced) >= 0
