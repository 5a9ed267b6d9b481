-- complete: write plain completions, the commonest decision, with fewer columns. Uses job_pkey.
with decided as (
    select *
      from unnest(%(job_id)s::uuid[], %(expected)s::integer[], %(result)s::text[],
                  %(at)s::bigint[], %(stage)s::text[], %(attempt)s::integer[],
                  %(holder)s::text[], %(started_at)s::bigint[])
        as decision (job_id, expected, result, at, stage, attempt, holder, started_at)
), applied as (
    update holdfast.job
       set state = 'complete',
           revision = decided.expected + 1,
           holder = null,
           lease_until = null,
           finished_at = decided.at,
           updated_at = decided.at,
           result = decided.result
      from decided
     where job.id = any(array[decided.job_id]) and job.revision = decided.expected
    returning job.id, decided.expected, decided.at, decided.stage, decided.attempt,
              decided.holder as worker, decided.started_at as began_at
), entered as (
    insert into holdfast.ledger (
        job_id, revision, kind, at, state, stage, attempt, holder, started_at, xact
    )
    select id, expected + 1, 'completed', at, 'complete', stage, attempt, worker, began_at,
           (select pg_current_xact_id()::text::bigint)
      from applied
)
select case when count(*) < cardinality(%(job_id)s::uuid[])
            then coalesce(array_agg(id)::text[], '{}')
       end
  from applied
