-- keyed_jobs: those of these jobs that have a key, and their plans; uses the key of the table.
select id, pipeline, plan
  from holdfast_job
 where id in (select value from json_each(:ids))
   and key is not null
