-- outbox_again: store messages; one stored already is published once more.
-- A relay that has one already, and would mark it for what it sent before, loses its lease.
insert into holdfast_outbox (
    id, aggregate_id, message_type, payload, trace, created_at, run_at
)
select value ->> 'id', value ->> 'aggregate_id', value ->> 'message_type', value ->> 'payload',
       value ->> 'trace', value ->> 'created_at', value ->> 'created_at'
  from json_each(:messages)
 where true
on conflict (id) do update
   set status = 'pending',
       processed_at = null,
       retry_count = 0,
       run_at = excluded.run_at,
       holder = null,
       lease_until = null
returning id
