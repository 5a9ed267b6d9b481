-- outbox_insert: store messages in the order given and wake the relays; one stored already stays.
with added as (
    insert into holdfast.outbox (
        id, aggregate_id, message_type, payload, trace, created_at, run_at
    )
    select id, aggregate_id, message_type, payload, trace, created_at, created_at
      from rows from (
            json_to_recordset(%(messages)s::json)
            as (id text, aggregate_id text, message_type text, payload text, trace text,
                created_at bigint)
           ) with ordinality as given (
            id, aggregate_id, message_type, payload, trace, created_at, place
           )
     order by place
    on conflict (id) do nothing
    returning id
), announced as (
    select pg_notify('holdfast_outbox', '') from (select from added limit 1) as any_of_them
)
select id from added where (select count(*) from announced) >= 0
