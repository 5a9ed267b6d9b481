-- not_ended_well: those of these jobs that are neither complete nor cancelled; uses their key.
select job.id
  from holdfast_job as job
 where job.id in (select value from json_each(:ids))
   and job.state not in ('complete', 'cancelled')
