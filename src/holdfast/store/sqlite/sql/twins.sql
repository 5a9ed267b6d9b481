-- twins: every job of a key, the lowest version first, also those that were removed:
-- uses holdfast_job_key, then _rerun, and the key of the table.
with first as (
    select id
      from holdfast_job
     where owner = :owner and pipeline = :pipeline and key = :key and rerun_of is null
)
select id, version, fingerprint, state, created_at, finished_at, null as removed_at, null as memo
  from holdfast_job
 where id = (select id from first) or rerun_of = (select id from first)
 union all
select job_id, version, fingerprint, state, created_at, finished_at, removed_at, memo
  from holdfast_kept_key
 where owner = :owner and pipeline = :pipeline and key = :key
 order by version, removed_at nulls last
