-- verify_message_leased_while_pending: a message is leased, to one relay until an instant, only while it is pending.
select message.id
  from holdfast.outbox as message
 where (message.holder is null) <> (message.lease_until is null)
    or (message.holder is not null and message.status <> 'pending')
 limit 1000
