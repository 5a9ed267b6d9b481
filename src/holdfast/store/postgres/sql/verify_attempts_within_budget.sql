-- verify_attempts_within_budget: no stage was attempted more often than its plan allows.
select job.id::text
  from holdfast.job as job
  join holdfast.plan as plan on plan.pipeline = job.pipeline and plan.digest = job.plan
 cross join jsonb_array_elements(plan.body::jsonb -> 'stages') as stage (body)
 where stage.body ->> 'name' = job.stage
   and job.attempt > (stage.body #>> '{retry,attempts}')::integer
 limit 1000
