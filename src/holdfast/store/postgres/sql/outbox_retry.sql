-- outbox_retry: have a message tried now, with a new budget, unless it is out or being sent.
update holdfast.outbox
   set status = 'pending',
       processed_at = null,
       retry_count = 0,
       run_at = %(now)s
 where id = %(id)s
   and status <> 'published'
   and (lease_until is null or lease_until < %(now)s)
returning id
