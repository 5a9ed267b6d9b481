-- leased: how many jobs each worker has leased, and how many leases have ended; uses job_leased.
select holder,
       count(*) filter (where lease_until >= %(now)s),
       count(*) filter (where lease_until < %(now)s)
  from holdfast.job
 where state = 'processing'
 group by holder
