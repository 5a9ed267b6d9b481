-- verify_lease_only_while_processing: a job is leased exactly while it is processing.
select job.id
  from holdfast_job as job
 where (job.state = 'processing') <> (job.holder is not null)
    or (job.state = 'processing') <> (job.lease_until is not null)
 limit 1000
