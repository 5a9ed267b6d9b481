-- remove_plan: remove a plan unless somebody has asked for it meanwhile; uses its key.
delete from holdfast.plan
 where pipeline = %(pipeline)s and digest = %(digest)s and created_at <= %(asked_for)s
