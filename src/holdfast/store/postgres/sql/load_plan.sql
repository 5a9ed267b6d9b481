-- load_plan: the body of one plan; uses plan_pkey.
select body from holdfast.plan where pipeline = %(pipeline)s and digest = %(digest)s
