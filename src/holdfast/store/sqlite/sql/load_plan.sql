-- load_plan: the body of one plan.
select body from holdfast_plan where pipeline = :pipeline and digest = :digest
