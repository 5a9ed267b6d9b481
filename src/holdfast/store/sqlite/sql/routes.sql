-- routes: where due jobs wait, how many, and since when; uses holdfast_job_due.
select queue, pipeline, stage, count(*), min(run_at)
  from holdfast_job
 where state = 'queued' and run_at <= :now
 group by queue, pipeline, stage
 order by queue, pipeline, stage
