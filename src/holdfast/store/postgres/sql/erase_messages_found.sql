-- erase_messages_found: those of these messages that are stored; uses outbox_id.
select id, status
  from holdfast.outbox
 where id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
