-- delivery_attempts_insert: write down what came of sends and lookups.
insert into holdfast.delivery_attempt (
    delivery_id, revision, at, attempt, outcome, error_class, http_status, notification_id, holder,
    message
)
select *
  from json_to_recordset(%(rows)s::json) as made (
    delivery_id text, revision integer, at bigint, attempt integer, outcome text, error_class text,
    http_status smallint, notification_id text, holder text, message text
  )
on conflict do nothing
