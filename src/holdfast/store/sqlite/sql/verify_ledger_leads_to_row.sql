-- verify_ledger_leads_to_row: the ledger ends where the job stands, but for a claim since.
select job.id
  from holdfast_job as job
  left join holdfast_ledger as entry
    on entry.job_id = job.id
   and entry.revision = (
        select max(latest.revision) from holdfast_ledger as latest where latest.job_id = job.id
       )
 where case
         when coalesce(entry.revision, 0) = job.revision
           then job.state <> coalesce(entry.state, 'queued')
         when coalesce(entry.revision, 0) = job.revision - 1
           then job.state <> 'processing' or coalesce(entry.state, 'queued') <> 'queued'
         else true
       end
 limit 1000
