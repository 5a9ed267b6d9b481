-- twins: every job of a key, the lowest version first; uses holdfast_job_key, then _rerun.
with first as (
    select id
      from holdfast_job
     where owner = :owner and pipeline = :pipeline and key = :key and rerun_of is null
)
select id, version, fingerprint, state
  from holdfast_job
 where id = (select id from first) or rerun_of = (select id from first)
 order by version
