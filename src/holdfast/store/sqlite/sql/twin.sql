-- twin: the first job of a key, or one that was removed; uses holdfast_job_key and the key of kept_key.
select id, version, fingerprint, state, created_at, finished_at, null as removed_at, null as memo
  from holdfast_job
 where owner = ?1 and pipeline = ?2 and key = ?3 and rerun_of is null
 union all
select job_id, version, fingerprint, state, created_at, finished_at, removed_at, memo
  from holdfast_kept_key
 where owner = ?1 and pipeline = ?2 and key = ?3
 limit 1
