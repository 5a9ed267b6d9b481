-- outbox_standing: how many messages wait or were given up; uses outbox_pending, outbox_failed.
-- What was published is not counted: history may be long.
select (select count(*) from holdfast.outbox where status = 'pending'),
       (select min(created_at) from holdfast.outbox where status = 'pending'),
       (select count(*) from holdfast.outbox where status = 'failed')
