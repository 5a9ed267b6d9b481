-- tail_jobs: jobs that one mark shows and an earlier one did not, by id; uses job_pkey.
-- No job from before `oldest_id` can have been in doubt.
select id::text, pipeline, queue, owner, created_at, stage, revision
  from holdfast.job
 where id >= %(oldest_id)s::uuid
   and id > %(after_id)s::uuid
   and xact >= %(since_entries)s
   and xact < %(until_jobs)s
   and not pg_visible_in_snapshot(xact::text::xid8, %(since_snapshot)s::pg_snapshot)
   and pg_visible_in_snapshot(xact::text::xid8, %(until_snapshot)s::pg_snapshot)
 order by job.id
 limit %(limit)s
