-- plan_bodies: the bodies of all plans.
select body from holdfast.plan
