-- outbox_find: messages that match a filter, newest first; walks the primary key.
select @outbox_columns@
  from holdfast_outbox as message
 where (:before is null or message.position < :before)
   and (:status is null or message.status = :status)
   and (:aggregate_id is null or message.aggregate_id = :aggregate_id)
   and (:message_type is null or message.message_type = :message_type)
 order by message.position desc
 limit :limit
