-- verify_waiting_for_deliveries_ends: a job does not wait for deliveries that are all sent, failed or unknown.
-- Ten minutes are allowed for: workers look every second.
select job.id
  from holdfast_job as job
 where job.state = 'waiting'
   and exists (
        select 1
          from holdfast_delivery as delivery
         where delivery.job_id = job.id
           and delivery.stage = job.stage
           and delivery.required = 1
       )
   and not exists (
        select 1
          from holdfast_delivery as delivery
         where delivery.job_id = job.id
           and delivery.stage = job.stage
           and delivery.required = 1
           and (delivery.state in ('intent', 'sending')
                or delivery.updated_at > :now - 600000000)
       )
 limit 1000
