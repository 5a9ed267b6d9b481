-- outbox_claim: lease messages that may be published now; uses outbox_pending, outbox_aggregate.
-- The first pending message of an aggregate stands for all of them: who leases it may lease those
-- behind it as well, up to the first that is not due. It is looked for among the messages longest
-- due, or, when thousands wait behind others, aggregate by aggregate. SQLite takes the tables of a
-- cross join in the order given, and so uses the index.
-- Messages of types that this relay does not publish are passed over, also within an aggregate:
-- the order holds among those of its own types.
with recursive due as materialized (
    select position, aggregate_id
      from holdfast_outbox
     where not :wide and status = 'pending' and run_at <= :now
       and @outbox_types@
     order by run_at, position
     limit :window
), walk (aggregate_id) as (
    select min(aggregate_id)
      from holdfast_outbox
     where :wide and status = 'pending'
       and @outbox_types@
    union all
    select (
            select min(message.aggregate_id)
              from holdfast_outbox as message
             where message.status = 'pending'
               and message.aggregate_id > walk.aggregate_id
               and @outbox_types@
           )
      from walk
     where walk.aggregate_id is not null
), first as (
    select due.position
      from due
     where due.position = (
            select min(message.position)
              from holdfast_outbox as message
             where message.aggregate_id = due.aggregate_id
               and message.status = 'pending'
               and @outbox_types@
           )
    union all
    select message.position
      from walk
      join holdfast_outbox as message
        on message.position = (
            select min(earliest.position)
              from holdfast_outbox as earliest
             where earliest.aggregate_id = walk.aggregate_id
               and earliest.status = 'pending'
               and @outbox_types@
           )
     where message.run_at <= :now
), head as materialized (
    select message.position, message.aggregate_id
      from first
      join holdfast_outbox as message on message.position = first.position
     limit :limit
), follower as materialized (
    select message.position, message.aggregate_id, head.position as head_position
      from head
     cross join holdfast_outbox as message
     where message.aggregate_id = head.aggregate_id
       and message.status = 'pending'
       and message.run_at <= :now
       and message.position > head.position
       and @outbox_types@
     order by message.position
     limit max(:limit - (select count(*) from head), 0)
), numbered as (
    select follower.*,
           row_number() over (partition by aggregate_id order by position) as number
      from follower
), taken as (
    select position from head
    union all
    select numbered.position
      from numbered
     where numbered.number = (
            select count(*)
              from holdfast_outbox as message
             where message.aggregate_id = numbered.aggregate_id
               and message.status = 'pending'
               and message.position > numbered.head_position
               and message.position <= numbered.position
               and @outbox_types@
           )
)
update holdfast_outbox as message
   set run_at = :lease_until,
       holder = :holder,
       lease_until = :lease_until
 where message.position in (select position from taken)
returning @outbox_returned@
