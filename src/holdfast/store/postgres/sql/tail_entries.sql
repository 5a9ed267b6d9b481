-- tail_entries: entries of all jobs that one mark shows and an earlier one did not.
-- Uses ledger_xact. Entries from long before bear another server's numbers.
select xact, job_id::text, revision, state, kind, at, stage, attempt, holder, started_at,
       error_class, http_status, detail
  from holdfast.ledger
 where xact >= greatest(%(since_entries)s, %(after_number)s)
   and xact < %(until_jobs)s
   and not pg_visible_in_snapshot(xact::text::xid8, %(since_snapshot)s::pg_snapshot)
   and pg_visible_in_snapshot(xact::text::xid8, %(until_snapshot)s::pg_snapshot)
   and at >= %(oldest_at)s
   and (xact, job_id, revision) > (%(after_number)s, %(after_id)s::uuid, %(after_revision)s)
 order by ledger.xact, ledger.job_id, ledger.revision
 limit %(limit)s
