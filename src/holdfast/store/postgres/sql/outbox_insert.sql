-- outbox_insert: store messages in the order given; one stored already stays as it is.
-- With each comes the number of this transaction.
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
returning id, pg_current_xact_id()::text::bigint
