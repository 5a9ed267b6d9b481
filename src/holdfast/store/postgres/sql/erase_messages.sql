-- erase_messages: remove these messages; uses outbox_id.
delete from holdfast.outbox
 where id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
