-- verify_plan_is_stored: every job's plan is stored.
select job.id::text
  from holdfast.job as job
  left join holdfast.plan as plan on plan.pipeline = job.pipeline and plan.digest = job.plan
 where plan.digest is null
 limit 1000
