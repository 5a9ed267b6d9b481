-- tail_entries: entries of all jobs that one mark shows and an earlier one did not.
-- Uses holdfast_ledger_position.
select position, job_id, revision, state, kind, at, stage, attempt, holder, started_at,
       error_class, http_status, detail
  from holdfast_ledger
 where position > max(:since_entries, :after_number)
   and position <= :until_entries
 order by position
 limit :limit
