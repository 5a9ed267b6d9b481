-- reruns: a first job and its reruns, the lowest version first; uses job_pkey and job_rerun.
select id::text, version, fingerprint, state
  from holdfast.job
 where id = %(first)s or rerun_of = %(first)s
 order by version
