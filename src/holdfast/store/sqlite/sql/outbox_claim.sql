-- outbox_claim: lease messages that may be published now; uses outbox_pending, outbox_aggregate.
-- The first pending message of an aggregate stands for all of them: who leases it may lease those
-- behind it as well, up to the first that is not due.
with due as materialized (
    select position, aggregate_id, run_at
      from holdfast_outbox
     where status = 'pending' and run_at <= :now
     order by run_at, position
     limit :window
), head as materialized (
    select position, aggregate_id
      from due
     where not exists (
            select 1
              from holdfast_outbox as earlier
             where earlier.aggregate_id = due.aggregate_id
               and earlier.status = 'pending'
               and earlier.position < due.position
           )
     order by run_at, position
     limit :limit
), follower as materialized (
    select message.position, message.aggregate_id
      from head
      join holdfast_outbox as message on message.aggregate_id = head.aggregate_id
     where message.status = 'pending'
       and message.run_at <= :now
       and message.position > head.position
     order by message.position
     limit max(:limit - (select count(*) from head), 0)
), taken as (
    select position from head
    union all
    select position
      from follower
     where not exists (
            select 1
              from holdfast_outbox as earlier
             where earlier.aggregate_id = follower.aggregate_id
               and earlier.status = 'pending'
               and earlier.position < follower.position
               and earlier.position not in (
                    select position from head union all select position from follower
                   )
           )
)
update holdfast_outbox as message
   set run_at = :lease_until,
       holder = :holder,
       lease_until = :lease_until
 where message.position in (select position from taken)
returning @outbox_returned@
