-- inbox_take: note that a consumer handles a message, unless it has before; uses its primary key.
insert into holdfast_inbox (consumer, message_id, received_at)
values (:consumer, :message_id, :now)
on conflict do nothing
