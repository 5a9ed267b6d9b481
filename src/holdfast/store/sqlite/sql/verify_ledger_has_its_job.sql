-- verify_ledger_has_its_job: a ledger entry belongs to a job, and to a revision it has reached.
select entry.job_id
  from holdfast_ledger as entry
  left join holdfast_job as job on job.id = entry.job_id
 where job.id is null
    or entry.revision > job.revision
    or entry.revision < 1
 limit 1000
