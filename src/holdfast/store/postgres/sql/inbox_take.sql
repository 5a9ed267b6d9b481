-- inbox_take: note that a consumer handles a message, unless it has before; uses inbox_pkey.
insert into holdfast.inbox (consumer, message_id, received_at)
values (%(consumer)s, %(message_id)s, %(now)s)
on conflict do nothing
