-- verify_leases_are_reclaimed: a lease that has ended is soon taken back.
-- Soon is a minute: workers sweep every few seconds.
select job.id
  from holdfast_job as job
 where job.state = 'processing'
   and job.lease_until < :now - 60000000
 limit 1000
