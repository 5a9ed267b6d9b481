-- ledger: a job's history, oldest first.
select revision, state, kind, at, stage, attempt, holder, started_at, error_class, http_status,
       detail
  from holdfast_ledger
 where job_id = :job_id
 order by revision
