-- verify_counters_are_sound: no counter is negative, and every attempt had a lease of its own.
select job.id
  from holdfast_job as job
 where job.run < 1
    or job.attempt < 0
    or job.token < job.attempt
    or job.revision < job.token
    or job.snoozes < 0
    or job.interruptions < 0
    or job.retries < 0
 limit 1000
