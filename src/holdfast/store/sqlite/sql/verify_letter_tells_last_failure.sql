-- verify_letter_tells_last_failure: a dead letter tells how its failed job failed last, unless that was refused.
select letter.id
  from holdfast_dead_letter as letter
  join holdfast_job as job on job.id = letter.id
 where job.state = 'failed'
   and not exists (
        select 1
          from holdfast_ledger as refused
         where refused.job_id = job.id
           and refused.revision = job.revision
           and refused.kind = 'refused'
       )
   and (letter.error_class <> job.error_class
        or letter.stage <> job.stage
        or letter.last_failure_at <> job.finished_at
        or letter.first_failure_at > letter.last_failure_at
        or letter.deaths <> (
            select count(*)
              from holdfast_ledger as entry
             where entry.job_id = job.id and entry.kind in ('failed', 'expired')
           ))
 limit 1000
