-- newest_plan: the body of the plan of a pipeline that was asked for last.
select body from holdfast_plan
 where pipeline = :pipeline
 order by created_at desc, digest
 limit 1
