-- keep_keys: keep the keys of jobs that are about to be removed; uses job_pkey.
insert into holdfast.kept_key (
    owner, pipeline, key, version, job_id, fingerprint, state, created_at, finished_at, removed_at,
    memo
)
select job.owner, job.pipeline, job.key, job.version, job.id, job.fingerprint, job.state,
       job.created_at, job.finished_at, %(removed_at)s, going.memo
  from json_to_recordset(%(rows)s::json) as going (id uuid, memo text)
  join holdfast.job on job.id = going.id
on conflict do nothing
