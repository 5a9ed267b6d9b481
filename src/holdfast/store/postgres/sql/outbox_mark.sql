-- outbox_mark: write what became of leased messages; one that is leased anew is left alone.
update holdfast.outbox as message
   set status = marked.status,
       processed_at = marked.processed_at,
       retry_count = marked.retry_count,
       error_message = marked.error_message,
       run_at = marked.run_at,
       holder = null,
       lease_until = null
  from json_to_recordset(%(marks)s::json)
       as marked (position bigint, status text, processed_at bigint, retry_count integer,
                  error_message text, run_at bigint)
 where message.position = any(array[marked.position])
   and message.status = 'pending'
   and message.holder = %(holder)s
   and message.lease_until = %(lease_until)s
returning message.id
