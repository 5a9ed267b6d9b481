-- verify_message_status_is_known: every message is pending, or published or failed since an instant.
select message.id
  from holdfast_outbox as message
 where message.status not in ('pending', 'published', 'failed')
    or (message.processed_at is null) <> (message.status = 'pending')
    or (message.status = 'failed' and message.error_message is null)
 limit 1000
