-- inbox_has: when a consumer has handled a message; uses inbox_pkey.
select received_at from holdfast.inbox
 where consumer = %(consumer)s and message_id = %(message_id)s
