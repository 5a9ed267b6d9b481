-- tail_jobs: jobs that one mark shows and an earlier one did not, by id; uses the rowid.
-- The number of a job that was removed may be given again: what was surely made after the earlier
-- mark is new whatever its number.
select job.id, job.pipeline, job.queue, job.owner, job.created_at, job.stage, job.revision
  from holdfast_job as job
 where job.rowid in (
    select numbered.rowid
      from holdfast_job as numbered
     where numbered.rowid > :since_jobs
    union
    select made.rowid
      from holdfast_job as made
     where made.id >= :surely_new_id
 )
   and job.rowid <= :until_jobs
   and job.id > :after_id
 order by job.id
 limit :limit
