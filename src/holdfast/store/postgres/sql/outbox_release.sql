-- outbox_release: let go of the messages that a relay has leased; uses outbox_pending.
update holdfast.outbox
   set run_at = %(now)s,
       holder = null,
       lease_until = null
 where status = 'pending' and run_at > %(now)s and holder = %(holder)s
