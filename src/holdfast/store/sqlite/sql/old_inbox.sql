-- old_inbox: how many messages were handled long ago; uses inbox_received.
select count(*) from holdfast_inbox where received_at <= :received
