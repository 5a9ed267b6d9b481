-- remove_plan: remove a plan unless somebody has asked for it meanwhile; uses its key.
delete from holdfast_plan
 where pipeline = :pipeline and digest = :digest and created_at <= :asked_for
