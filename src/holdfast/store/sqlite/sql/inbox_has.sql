-- inbox_has: when a consumer has handled a message; uses its primary key.
select received_at from holdfast_inbox
 where consumer = :consumer and message_id = :message_id
