-- verify_plan_is_stored: every job's plan is stored.
select job.id
  from holdfast_job as job
  left join holdfast_plan as plan on plan.pipeline = job.pipeline and plan.digest = job.plan
 where plan.digest is null
 limit 1000
