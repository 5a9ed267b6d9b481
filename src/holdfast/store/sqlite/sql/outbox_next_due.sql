-- outbox_next_due: when the next pending message is due; uses outbox_pending.
select min(run_at) from holdfast_outbox where status = 'pending' and run_at > :now
