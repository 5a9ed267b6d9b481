-- verify_leases_are_reclaimed: a lease that has ended is soon taken back.
-- Soon is a minute: workers sweep every few seconds.
select job.id::text
  from holdfast.job as job
 where job.state = 'processing'
   and job.lease_until < %(now)s - 60000000
 limit 1000
