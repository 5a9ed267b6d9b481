-- inbox_take_all: note that a consumer handles messages, unless it has; uses its primary key.
insert into holdfast_inbox (consumer, message_id, received_at)
select :consumer, given.value, :now from json_each(:message_ids) as given where true
on conflict do nothing
