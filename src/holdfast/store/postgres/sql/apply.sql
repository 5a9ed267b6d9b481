-- apply: write decisions; a job whose revision has moved on is left alone. Uses job_pkey.
with decided as (
    select *
      from unnest(
        %(job_id)s::uuid[], %(expected)s::integer[],
        %(state)s::text[], %(stage)s::text[], %(run)s::integer[], %(attempt)s::integer[],
        %(token)s::integer[], %(run_at)s::bigint[], %(deadline_at)s::bigint[],
        %(holder)s::text[], %(lease_until)s::bigint[], %(attempt_at)s::bigint[],
        %(finished_at)s::bigint[], %(snoozes)s::integer[], %(interruptions)s::integer[],
        %(retries)s::integer[], %(result)s::text[], %(error)s::text[], %(error_class)s::text[],
        %(late_result)s::text[],
        %(entry_kind)s::text[], %(entry_at)s::bigint[], %(entry_stage)s::text[],
        %(entry_attempt)s::integer[], %(entry_holder)s::text[], %(entry_started_at)s::bigint[],
        %(entry_error_class)s::text[], %(entry_http_status)s::smallint[],
        %(entry_detail)s::text[],
        %(checkpoint)s::text[]
      ) as decision (
        job_id, expected, state, stage, run, attempt, token, run_at, deadline_at, holder,
        lease_until, attempt_at, finished_at, snoozes, interruptions, retries, result, error,
        error_class, late_result, entry_kind, entry_at, entry_stage, entry_attempt, entry_holder,
        entry_started_at, entry_error_class, entry_http_status, entry_detail, checkpoint
      )
), applied as (
    update holdfast.job
       set state = decided.state,
           stage = decided.stage,
           run = decided.run,
           attempt = decided.attempt,
           token = decided.token,
           revision = decided.expected + 1,
           run_at = decided.run_at,
           deadline_at = decided.deadline_at,
           holder = decided.holder,
           lease_until = decided.lease_until,
           attempt_at = decided.attempt_at,
           finished_at = decided.finished_at,
           updated_at = decided.entry_at,
           snoozes = decided.snoozes,
           interruptions = decided.interruptions,
           retries = decided.retries,
           result = decided.result,
           error = decided.error,
           error_class = decided.error_class,
           late_result = decided.late_result
      from decided
     where job.id = any(array[decided.job_id]) and job.revision = decided.expected
    returning job.id, job.run, job.state, decided.expected, decided.entry_kind, decided.entry_at,
              decided.entry_stage, decided.entry_attempt, decided.entry_holder,
              decided.entry_started_at, decided.entry_error_class, decided.entry_http_status,
              decided.entry_detail, decided.checkpoint
), entered as (
    insert into holdfast.ledger (
        job_id, revision, kind, at, state, stage, attempt, holder, started_at, error_class,
        http_status, detail, xact
    )
    select id, expected + 1, entry_kind, entry_at, state, entry_stage, entry_attempt,
           entry_holder, entry_started_at, entry_error_class, entry_http_status, entry_detail,
           (select pg_current_xact_id()::text::bigint)
      from applied
), checkpointed as (
    insert into holdfast.checkpoint (job_id, run, stage, result, created_at)
    select id, run, entry_stage, checkpoint, entry_at
      from applied
     where checkpoint is not null
)
select id::text from applied
