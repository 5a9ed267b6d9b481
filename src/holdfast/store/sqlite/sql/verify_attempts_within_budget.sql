-- verify_attempts_within_budget: no stage was attempted more often than its plan allows.
select job.id
  from holdfast_job as job
  join holdfast_plan as plan on plan.pipeline = job.pipeline and plan.digest = job.plan
 cross join json_each(plan.body, '$.stages') as stage
 where json_extract(stage.value, '$.name') = job.stage
   and job.attempt > json_extract(stage.value, '$.retry.attempts')
 limit 1000
