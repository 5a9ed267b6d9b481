-- bury: keep why a job has failed for good, once more if it had before. Uses the keys of the tables.
insert into holdfast_dead_letter (
    id, kind, pipeline, stage, queue, owner, error_class, category, severity, retryable,
    outcome_known, http_status, attempts, first_failure_at, last_failure_at, holder, message,
    exception_type, stack, fingerprint, updated_at
)
select job.id, 'job', job.pipeline, :stage, job.queue, job.owner, :error_class,
       :category, :severity, :retryable, :outcome_known,
       :http_status, :attempts,
       min(coalesce(:first_at, :at), (
        select min(entry.at)
          from holdfast_ledger as entry
         where entry.job_id = job.id
           and entry.stage = :stage
           and entry.error_class is not null
           and entry.revision > coalesce(
                (
                 select max(sent_back.revision)
                   from holdfast_ledger as sent_back
                  where sent_back.job_id = job.id and sent_back.kind = 'revived'
                ), 0)
       )),
       :at, :holder, :message, :exception_type, :stack,
       :fingerprint, :at
  from holdfast_job as job
 where job.id = :job_id
on conflict (id) do update
   set stage = excluded.stage,
       error_class = excluded.error_class,
       previous_class = holdfast_dead_letter.error_class,
       category = excluded.category,
       severity = excluded.severity,
       retryable = excluded.retryable,
       outcome_known = excluded.outcome_known,
       http_status = excluded.http_status,
       attempts = excluded.attempts,
       deaths = holdfast_dead_letter.deaths + 1,
       first_failure_at = excluded.first_failure_at,
       last_failure_at = excluded.last_failure_at,
       holder = excluded.holder,
       message = excluded.message,
       exception_type = excluded.exception_type,
       stack = excluded.stack,
       fingerprint = excluded.fingerprint,
       state = 'open',
       revision = holdfast_dead_letter.revision + 1,
       updated_at = excluded.updated_at,
       cause = null,
       evidence = null,
       note = null,
       replayed_at = null,
       resolved_at = null
