-- reruns: a first job, its reruns and what was removed of its key, the lowest version first:
-- uses holdfast_job_rerun and the keys of the tables.
select id, version, fingerprint, state, created_at, finished_at, null as removed_at, null as memo
  from holdfast_job
 where id = :first or rerun_of = :first
 union all
select kept.job_id, kept.version, kept.fingerprint, kept.state, kept.created_at, kept.finished_at,
       kept.removed_at, kept.memo
  from holdfast_job as first
  join holdfast_kept_key as kept
    on kept.owner = first.owner and kept.pipeline = first.pipeline and kept.key = first.key
 where first.id = :first
 order by version, removed_at nulls last
