-- tail_mark: what can be seen now: a snapshot, where it begins and ends, the record's last entry.
select pg_current_snapshot()::text,
       pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       coalesce((select max(id) from holdfast.audit), 0)
