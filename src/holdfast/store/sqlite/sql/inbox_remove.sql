-- inbox_remove: forget messages that were handled long ago; uses inbox_received.
delete from holdfast_inbox
 where (consumer, message_id) in (
        select consumer, message_id
          from holdfast_inbox
         where received_at <= :received
         order by received_at
         limit :limit
       )
