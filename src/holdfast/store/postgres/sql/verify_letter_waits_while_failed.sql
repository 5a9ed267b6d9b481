-- verify_letter_waits_while_failed: a dead letter waits for a person only while its job is failed.
select letter.id
  from holdfast.dead_letter as letter
  join holdfast.job as job on job.id::text = letter.id
 where letter.state in ('open', 'triaged', 'remediated')
   and job.state <> 'failed'
 limit 1000
