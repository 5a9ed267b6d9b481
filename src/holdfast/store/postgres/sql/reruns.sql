-- reruns: a first job, its reruns and what was removed of its key, the lowest version first:
-- uses job_pkey, job_rerun and kept_key_pkey.
select id::text, version, fingerprint, state, created_at, finished_at,
       null::bigint as removed_at, null::text as memo
  from holdfast.job
 where id = %(first)s or rerun_of = %(first)s
 union all
select kept.job_id::text, kept.version, kept.fingerprint, kept.state, kept.created_at,
       kept.finished_at, kept.removed_at, kept.memo
  from holdfast.job as first
  join holdfast.kept_key as kept
    on kept.owner = first.owner and kept.pipeline = first.pipeline and kept.key = first.key
 where first.id = %(first)s
 order by version, removed_at
