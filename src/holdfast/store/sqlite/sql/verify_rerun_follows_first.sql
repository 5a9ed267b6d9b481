-- verify_rerun_follows_first: a rerun names the first job of its key and has a higher version.
select job.id
  from holdfast_job as job
  left join holdfast_job as first on first.id = job.rerun_of
 where job.rerun_of is not null
   and (
        first.id is null
        or first.rerun_of is not null
        or first.version >= job.version
        or first.owner <> job.owner
        or first.pipeline <> job.pipeline
        or first.key is not job.key
       )
 limit 1000
