-- deliveries_insert: make deliveries; where the recipient has one for that version, it stays.
insert into holdfast.delivery (
    id, subject, recipient, version, provider, token, message, created_at, job_id, stage, required,
    run_at, updated_at, trace
)
select made.id, made.subject, made.recipient, made.version, made.provider, made.token,
       made.message, made.created_at, made.job_id, made.stage, made.required, made.run_at,
       made.created_at, made.trace
  from json_to_recordset(%(rows)s::json) as made (
    id text, subject text, recipient text, version integer, provider text, token text,
    message text, created_at bigint, job_id text, stage text, required smallint, run_at bigint,
    trace text
  )
 order by made.subject, made.recipient, made.version
on conflict (subject, recipient, version) do nothing
