-- old_jobs: the next jobs by id, with what says whether they may go; walks job_pkey.
with page as materialized (
    select job.id, job.state, job.finished_at
      from holdfast.job
     where job.id > %(after)s::uuid and job.id < %(below)s::uuid
     order by job.id
     limit %(limit)s
)
select page.id::text, page.state, page.finished_at,
       exists (select from holdfast.dead_letter as letter where letter.id = page.id::text),
       exists (select from holdfast.job as rerun where rerun.rerun_of = page.id)
  from page
 order by page.id
