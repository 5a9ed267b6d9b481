-- outbox_standing_of_types: as outbox_standing, of the types of a relay; uses the same indexes.
select (
        select count(*)
          from holdfast_outbox
         where status = 'pending'
           and @outbox_types@
       ),
       (
        select min(created_at)
          from holdfast_outbox
         where status = 'pending'
           and @outbox_types@
       ),
       (
        select count(*)
          from holdfast_outbox
         where status = 'failed'
           and @outbox_types@
       )
