-- inbox_take_all: note that a consumer handles messages, unless it has before; uses inbox_pkey.
insert into holdfast.inbox (consumer, message_id, received_at)
select %(consumer)s, given.message_id, %(now)s
  from json_array_elements_text(%(message_ids)s::json) as given (message_id)
on conflict do nothing
