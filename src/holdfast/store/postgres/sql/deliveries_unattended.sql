-- deliveries_unattended: deliveries that need a person and have no dead letter to say so.
-- Uses delivery_unknown, delivery_failed and job_pkey.
with stuck as (
    select delivery.provider, delivery.state, delivery.job_id, delivery.updated_at
      from holdfast.delivery
     where delivery.state = 'unknown'
    union all
    select delivery.provider, delivery.state, delivery.job_id, delivery.updated_at
      from holdfast.delivery
     where delivery.state = 'failed'
       and delivery.required = 1
       and delivery.error_class <> 'WITHDRAWN'
)
select stuck.provider, stuck.state, count(*), min(stuck.updated_at)
  from stuck
  left join holdfast.job on job.id = stuck.job_id::uuid
 where stuck.job_id is null or job.state = 'complete'
 group by stuck.provider, stuck.state
 order by stuck.provider, stuck.state
