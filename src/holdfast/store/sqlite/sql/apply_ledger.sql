-- apply_ledger: enter an applied decision into its job's history, behind all entries there are.
-- Uses holdfast_ledger_position.
insert into holdfast_ledger (
    job_id, revision, kind, at, state, stage, attempt, holder, started_at, error_class,
    http_status, detail, position
)
values (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    max(?, 1 + coalesce((
        select latest.position
          from holdfast_ledger as latest
         where latest.position is not null
         order by latest.position desc
         limit 1
    ), 0))
)
