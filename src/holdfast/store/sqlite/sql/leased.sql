-- leased: how many jobs each worker has leased, and how many leases have ended.
select holder,
       count(*) filter (where lease_until >= :now),
       count(*) filter (where lease_until < :now)
  from holdfast_job
 where state = 'processing'
 group by holder
