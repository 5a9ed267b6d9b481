-- outbox_mark: write what became of leased messages; one that is leased anew is left alone.
update holdfast_outbox as message
   set status = marked.value ->> 'status',
       processed_at = marked.value ->> 'processed_at',
       retry_count = marked.value ->> 'retry_count',
       error_message = marked.value ->> 'error_message',
       run_at = marked.value ->> 'run_at',
       holder = null,
       lease_until = null
  from json_each(:marks) as marked
 where message.position = marked.value ->> 'position'
   and message.status = 'pending'
   and message.holder = :holder
   and message.lease_until = :lease_until
returning id
