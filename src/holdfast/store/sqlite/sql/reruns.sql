-- reruns: a first job and its reruns, the lowest version first; uses holdfast_job_rerun.
select id, version, fingerprint, state
  from holdfast_job
 where id = :first or rerun_of = :first
 order by version
