-- verify_failed_has_its_letter: a failed job that was not refused has a dead letter, and not one that says replayed.
select job.id::text
  from holdfast.job as job
  left join holdfast.dead_letter as letter on letter.id = job.id::text
 where job.state = 'failed'
   and (letter.id is null or letter.state = 'replayed')
   and not exists (
        select
          from holdfast.ledger as entry
         where entry.job_id = job.id
           and entry.revision = job.revision
           and entry.kind = 'refused'
       )
 limit 1000
