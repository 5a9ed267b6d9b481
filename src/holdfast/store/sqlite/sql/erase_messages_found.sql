-- erase_messages_found: those of these messages that are stored; uses holdfast_outbox_id.
select id, status from holdfast_outbox where id in (select value from json_each(:ids))
