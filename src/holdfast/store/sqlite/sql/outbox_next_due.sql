-- outbox_next_due: when the first pending message after an instant is due; uses outbox_pending.
select min(run_at)
  from holdfast_outbox
 where status = 'pending'
   and run_at > :after
   and @outbox_types@
