-- outbox_claim: lease messages that may be published now; uses outbox_pending, outbox_waiting.
-- The first pending message of an aggregate stands for all of them: who leases it may lease those
-- behind it as well, up to the first that is not due or that somebody has locked. It is looked for
-- among the messages longest due, or, when thousands wait behind others, aggregate by aggregate.
-- Messages of types that this relay does not publish are passed over, also within an aggregate:
-- the order holds among those of its own types.
-- Only `due` asks for what is pending. The others say it in the words of outbox_waiting, so that no
-- plan can read everything that waits for each message.
with recursive due as materialized (
    select position, aggregate_id
      from holdfast.outbox
     where not %(wide)s::boolean
       and status = 'pending'
       and run_at <= %(now)s
       and @outbox_types@
     order by run_at, position
     limit %(window)s
), walk as (
    (
        select aggregate_id, position, run_at
          from holdfast.outbox
         where %(wide)s::boolean and status not in ('published', 'failed')
           and @outbox_types@
         order by aggregate_id, position
         limit 1
    )
    union all
    select following.aggregate_id, following.position, following.run_at
      from walk
     cross join lateral (
        select message.aggregate_id, message.position, message.run_at
          from holdfast.outbox as message
         where message.status not in ('published', 'failed')
           and message.aggregate_id > walk.aggregate_id
           and @outbox_types@
         order by message.aggregate_id, message.position
         limit 1
     ) as following
), first as (
    select due.aggregate_id, due.position
      from due
     where due.position = (
            select message.position
              from holdfast.outbox as message
             where message.aggregate_id = due.aggregate_id
               and message.status not in ('published', 'failed')
               and @outbox_types@
             order by message.position
             limit 1
           )
    union all
    (
        select walk.aggregate_id, walk.position
          from walk
         where walk.run_at <= %(now)s
         order by run_at, position
    )
), head as materialized (
    select candidate.position, candidate.aggregate_id
      from first
     cross join lateral (
        select message.position, message.aggregate_id
          from holdfast.outbox as message
         where message.aggregate_id = first.aggregate_id
           and message.position = first.position
           and message.status not in ('published', 'failed')
           and message.run_at <= %(now)s
           for update skip locked
     ) as candidate
     limit %(limit)s
), follower as materialized (
    select candidate.position, candidate.aggregate_id, head.position as head_position
      from head
     cross join lateral (
        select message.position, message.aggregate_id
          from holdfast.outbox as message
         where message.aggregate_id = head.aggregate_id
           and message.status not in ('published', 'failed')
           and message.run_at <= %(now)s
           and message.position > head.position
           and @outbox_types@
         order by message.position
         limit %(limit)s
           for update skip locked
     ) as candidate
     limit greatest(%(limit)s - (select count(*) from head), 0)
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
              from holdfast.outbox as message
             where message.aggregate_id = numbered.aggregate_id
               and message.status not in ('published', 'failed')
               and message.position > numbered.head_position
               and message.position <= numbered.position
               and @outbox_types@
           )
)
update holdfast.outbox as message
   set run_at = %(lease_until)s,
       holder = %(holder)s,
       lease_until = %(lease_until)s
  from taken
 where message.position = any(array[taken.position])
returning @outbox_columns@
