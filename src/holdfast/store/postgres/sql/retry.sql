-- retry: put jobs back for another attempt, and write completions beside them. Uses job_pkey.
with decided as (
    select *
      from unnest(%(job_id)s::uuid[], %(expected)s::integer[], %(kind)s::text[],
                  %(attempts)s::integer[], %(run_at)s::bigint[], %(result)s::text[],
                  %(at)s::bigint[], %(stage)s::text[], %(attempt)s::integer[], %(holder)s::text[],
                  %(started_at)s::bigint[], %(error_class)s::text[], %(http_status)s::smallint[],
                  %(detail)s::text[])
        as decision (job_id, expected, kind, attempts, run_at, result, at, stage, attempt, holder,
                     started_at, error_class, http_status, detail)
), applied as (
    update holdfast.job
       set state = case decided.kind when 'completed' then 'complete' else 'queued' end,
           revision = decided.expected + 1,
           attempt = decided.attempts,
           run_at = decided.run_at,
           holder = null,
           lease_until = null,
           finished_at = case decided.kind when 'completed' then decided.at end,
           updated_at = decided.at,
           result = decided.result
      from decided
     where job.id = any(array[decided.job_id]) and job.revision = decided.expected
    returning job.id, decided.expected, decided.kind, decided.at, job.state, decided.stage,
              decided.attempt, decided.holder as worker, decided.started_at as began_at,
              decided.error_class, decided.http_status, decided.detail
), entered as (
    insert into holdfast.ledger (
        job_id, revision, kind, at, state, stage, attempt, holder, started_at, error_class,
        http_status, detail, xact
    )
    select id, expected + 1, kind, at, state, stage, attempt, worker, began_at, error_class,
           http_status, detail, (select pg_current_xact_id()::text::bigint)
      from applied
)
select case when count(*) < cardinality(%(job_id)s::uuid[])
            then coalesce(array_agg(id)::text[], '{}')
       end
  from applied
