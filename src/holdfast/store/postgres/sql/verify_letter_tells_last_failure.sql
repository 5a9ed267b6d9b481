-- verify_letter_tells_last_failure: a dead letter tells how its failed job failed last, unless that was refused.
select letter.id
  from holdfast.dead_letter as letter
  join holdfast.job as job on job.id::text = letter.id
 where job.state = 'failed'
   and not exists (
        select 1
          from holdfast.ledger as refused
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
              from holdfast.ledger as entry
             where entry.job_id = job.id and entry.kind in ('failed', 'expired')
           ))
 limit 1000
