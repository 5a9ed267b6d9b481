-- renew: extend leases that are still held; revisions stay, as a finish may be in flight.
update holdfast.job
   set lease_until = %(lease_until)s
  from unnest(%(job_id)s::uuid[], %(token)s::integer[]) as lease (job_id, token)
 where job.id = lease.job_id
   and job.token = lease.token
   and job.state = 'processing'
   and job.holder = %(holder)s
returning job.id::text, job.token
