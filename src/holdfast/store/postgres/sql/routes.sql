-- routes: where due jobs wait, how many, and since when; uses job_due.
select queue, pipeline, stage, count(*), min(run_at)
  from holdfast.job
 where state = 'queued' and run_at <= %(now)s
 group by queue, pipeline, stage
 order by queue, pipeline, stage
