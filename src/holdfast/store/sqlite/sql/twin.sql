-- twin: the first job of a key; uses holdfast_job_key.
select id, version, fingerprint, state
  from holdfast_job
 where owner = ? and pipeline = ? and key = ? and rerun_of is null
