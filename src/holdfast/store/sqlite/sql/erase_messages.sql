-- erase_messages: remove these messages; uses holdfast_outbox_id.
delete from holdfast_outbox where id in (select value from json_each(:ids))
