-- delivery_attempts_insert: write down what came of sends and lookups.
insert into holdfast_delivery_attempt (
    delivery_id, revision, at, attempt, outcome, error_class, http_status, notification_id, holder,
    message
)
select made.value ->> 'delivery_id', made.value ->> 'revision', made.value ->> 'at',
       made.value ->> 'attempt', made.value ->> 'outcome', made.value ->> 'error_class',
       made.value ->> 'http_status', made.value ->> 'notification_id', made.value ->> 'holder',
       made.value ->> 'message'
  from json_each(:rows) as made
 where true
on conflict do nothing
