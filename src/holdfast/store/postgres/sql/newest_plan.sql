-- newest_plan: the body of the plan of a pipeline that was asked for last; uses plan_pkey.
select body from holdfast.plan
 where pipeline = %(pipeline)s
 order by created_at desc, digest
 limit 1
