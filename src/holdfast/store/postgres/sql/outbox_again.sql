-- outbox_again: store messages and wake the relays; one stored already is published once more.
with added as (
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
           run_at = excluded.run_at
     where message.status <> 'pending'
    returning id
)
select id, pg_notify('holdfast_outbox', '') from added
