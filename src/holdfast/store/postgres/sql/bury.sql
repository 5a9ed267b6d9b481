-- bury: keep why a job has failed for good, once more if it had before. Uses the keys of the tables.
insert into holdfast.dead_letter as buried (
    id, kind, pipeline, stage, queue, owner, error_class, category, severity, retryable,
    outcome_known, http_status, attempts, first_failure_at, last_failure_at, holder, message,
    exception_type, stack, fingerprint, updated_at
)
select job.id::text, 'job', job.pipeline, dead.stage, job.queue, job.owner, dead.error_class,
       dead.category, dead.severity, dead.retryable, dead.outcome_known, dead.http_status,
       dead.attempts,
       least(dead.first_at, (
        select min(entry.at)
          from holdfast.ledger as entry
         where entry.job_id = job.id
           and entry.stage = dead.stage
           and entry.error_class is not null
           and entry.revision > coalesce(
                (
                 select max(sent_back.revision)
                   from holdfast.ledger as sent_back
                  where sent_back.job_id = job.id and sent_back.kind = 'revived'
                ), 0)
       )),
       dead.at, dead.holder, dead.message, dead.exception_type, dead.stack, dead.fingerprint,
       dead.at
  from unnest(
        %(job_id)s::uuid[], %(stage)s::text[], %(error_class)s::text[], %(category)s::text[],
        %(severity)s::text[], %(retryable)s::smallint[], %(outcome_known)s::smallint[],
        %(http_status)s::smallint[], %(attempts)s::integer[], %(first_at)s::bigint[],
        %(at)s::bigint[], %(holder)s::text[], %(message)s::text[], %(exception_type)s::text[],
        %(stack)s::text[], %(fingerprint)s::text[]
       ) as dead (
        job_id, stage, error_class, category, severity, retryable, outcome_known, http_status,
        attempts, first_at, at, holder, message, exception_type, stack, fingerprint
       )
  join holdfast.job on job.id = any(array[dead.job_id])
on conflict (id) do update
   set stage = excluded.stage,
       error_class = excluded.error_class,
       previous_class = buried.error_class,
       category = excluded.category,
       severity = excluded.severity,
       retryable = excluded.retryable,
       outcome_known = excluded.outcome_known,
       http_status = excluded.http_status,
       attempts = excluded.attempts,
       deaths = buried.deaths + 1,
       first_failure_at = excluded.first_failure_at,
       last_failure_at = excluded.last_failure_at,
       holder = excluded.holder,
       message = excluded.message,
       exception_type = excluded.exception_type,
       stack = excluded.stack,
       fingerprint = excluded.fingerprint,
       state = 'open',
       revision = buried.revision + 1,
       updated_at = excluded.updated_at,
       cause = null,
       evidence = null,
       note = null,
       replayed_at = null,
       resolved_at = null
