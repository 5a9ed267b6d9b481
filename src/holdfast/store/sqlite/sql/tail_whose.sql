-- tail_whose: where jobs belong.
select job.id, job.pipeline, job.queue, job.owner
  from holdfast_job as job
 where job.id in (select value from json_each(:ids))
