-- outbox_insert: store messages in the order given; one stored already stays.
insert into holdfast_outbox (
    id, aggregate_id, message_type, payload, trace, created_at, run_at
)
select value ->> 'id', value ->> 'aggregate_id', value ->> 'message_type', value ->> 'payload',
       value ->> 'trace', value ->> 'created_at', value ->> 'created_at'
  from json_each(:messages)
 where true
 order by key
on conflict (id) do nothing
returning id
