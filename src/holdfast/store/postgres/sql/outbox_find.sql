-- outbox_find: messages that match a filter, newest first; walks the primary key.
select @outbox_columns@
  from holdfast.outbox as message
 where (%(before)s::bigint is null or message.position < %(before)s)
   and (%(status)s::text is null or message.status = %(status)s)
   and (%(aggregate_id)s::text is null or message.aggregate_id = %(aggregate_id)s)
   and (%(message_type)s::text is null or message.message_type = %(message_type)s)
 order by message.position desc
 limit %(limit)s
