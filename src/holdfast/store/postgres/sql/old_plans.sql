-- old_plans: plans that no process has asked for since then, the longest first.
select plan.pipeline, plan.digest, plan.created_at
  from holdfast.plan as plan
 where plan.created_at <= %(asked_for)s
 order by plan.created_at, plan.pipeline, plan.digest
 limit %(limit)s
