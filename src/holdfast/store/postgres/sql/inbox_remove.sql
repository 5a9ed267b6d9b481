-- inbox_remove: forget messages that were handled long ago; uses inbox_received.
delete from holdfast.inbox
 where (consumer, message_id) in (
        select consumer, message_id
          from holdfast.inbox
         where received_at <= %(received)s
         order by received_at
         limit %(limit)s
           for update skip locked
       )
