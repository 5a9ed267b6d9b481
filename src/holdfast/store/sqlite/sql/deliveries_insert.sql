-- deliveries_insert: make deliveries; where the recipient has one for that version, it stays.
insert into holdfast_delivery (
    id, subject, recipient, version, provider, token, message, created_at, job_id, stage, required,
    run_at, updated_at, trace
)
select made.value ->> 'id', made.value ->> 'subject', made.value ->> 'recipient',
       made.value ->> 'version', made.value ->> 'provider', made.value ->> 'token',
       made.value ->> 'message', made.value ->> 'created_at', made.value ->> 'job_id',
       made.value ->> 'stage', made.value ->> 'required', made.value ->> 'run_at',
       made.value ->> 'created_at', made.value ->> 'trace'
  from json_each(:rows) as made
 where true
on conflict (subject, recipient, version) do nothing
