-- outbox_claim: lease messages that may be published now; uses outbox_pending, outbox_aggregate.
-- The first pending message of an aggregate stands for all of them: who leases it may lease those
-- behind it as well, up to the first that is not due or that somebody has locked.
with due as (
    select position
      from holdfast.outbox
     where status = 'pending' and run_at <= %(now)s
     order by run_at, position
     limit %(window)s
), head as materialized (
    select message.position, message.aggregate_id
      from holdfast.outbox as message
      join due on due.position = message.position
     where message.status = 'pending'
       and message.run_at <= %(now)s
       and not exists (
            select
              from holdfast.outbox as earlier
             where earlier.aggregate_id = message.aggregate_id
               and earlier.status = 'pending'
               and earlier.position < message.position
           )
     order by message.run_at, message.position
     limit %(limit)s
       for update of message skip locked
), follower as materialized (
    select message.position, message.aggregate_id
      from holdfast.outbox as message
      join head on head.aggregate_id = message.aggregate_id
     where message.status = 'pending'
       and message.run_at <= %(now)s
       and message.position > head.position
     order by message.position
     limit greatest(%(limit)s - (select count(*) from head), 0)
       for update of message skip locked
), taken as (
    select position from head
    union all
    select position
      from follower
     where not exists (
            select
              from holdfast.outbox as earlier
             where earlier.aggregate_id = follower.aggregate_id
               and earlier.status = 'pending'
               and earlier.position < follower.position
               and earlier.position not in (
                    select position from head union all select position from follower
                   )
           )
)
update holdfast.outbox as message
   set run_at = %(lease_until)s,
       holder = %(holder)s,
       lease_until = %(lease_until)s
  from taken
 where message.position = taken.position
returning @outbox_columns@
