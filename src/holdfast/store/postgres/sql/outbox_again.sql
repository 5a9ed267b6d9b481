-- outbox_again: store messages; one stored already is published once more.
-- A relay that has one already, and would mark it for what it sent before, loses its lease.
insert into holdfast.outbox as message (
    id, aggregate_id, message_type, payload, trace, created_at, run_at
)
select id, aggregate_id, message_type, payload, trace, created_at, created_at
  from json_to_recordset(%(messages)s::json)
       as given (id text, aggregate_id text, message_type text, payload text, trace text,
                 created_at bigint)
on conflict (id) do update
   set status = 'pending',
       processed_at = null,
       retry_count = 0,
       run_at = excluded.run_at,
       holder = null,
       lease_until = null
returning id
