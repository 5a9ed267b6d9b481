-- renew: extend leases that are still held; revisions stay, as a finish may be in flight.
-- Rows that somebody has locked are not waited for: one of them must not cost the others' leases.
with held as materialized (
    select job.id, job.token
      from unnest(%(job_id)s::uuid[], %(token)s::integer[]) as lease (job_id, token)
      join holdfast.job
        on job.id = any(array[lease.job_id]) and job.token = lease.token
     where job.state = 'processing' and job.holder = %(holder)s
), free as materialized (
    select job.id
      from holdfast.job
     where job.id = any(array(select id from held))
       and job.state = 'processing'
       and job.holder = %(holder)s
       for update skip locked
), renewed as (
    update holdfast.job
       set lease_until = %(lease_until)s
      from free
     where job.id = any(array[free.id])
)
select id::text, token from held
