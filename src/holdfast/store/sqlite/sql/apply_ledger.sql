-- apply_ledger: enter an applied decision into its job's history.
insert into holdfast_ledger (
    job_id, revision, kind, at, state, stage, attempt, holder, started_at, error_class,
    http_status, detail
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
