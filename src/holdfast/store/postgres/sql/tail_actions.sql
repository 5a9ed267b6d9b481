-- tail_actions: moves of breakers and queues that one mark shows and an earlier one did not, by id.
-- Uses audit_pkey. Ids are given before the commit, so it begins a little earlier.
select at, done_by, action, subject_kind, subject, reason, detail
  from holdfast.audit
 where id > %(since_audit)s - %(slack)s
   and subject_kind in ('upstream', 'queue')
   and xact < %(until_jobs)s
   and not pg_visible_in_snapshot(xact::text::xid8, %(since_snapshot)s::pg_snapshot)
   and pg_visible_in_snapshot(xact::text::xid8, %(until_snapshot)s::pg_snapshot)
 order by audit.id
 limit %(limit)s
