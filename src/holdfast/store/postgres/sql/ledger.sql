-- ledger: a job's history, oldest first; uses ledger_pkey.
select revision, state, kind, at, stage, attempt, holder, started_at, error_class, http_status,
       detail
  from holdfast.ledger
 where job_id = %(job_id)s::uuid
 order by revision
