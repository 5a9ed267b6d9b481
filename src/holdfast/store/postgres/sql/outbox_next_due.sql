-- outbox_next_due: when the next pending message is due; uses outbox_pending.
select min(run_at) from holdfast.outbox where status = 'pending' and run_at > %(now)s
