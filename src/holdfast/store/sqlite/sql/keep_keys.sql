-- keep_keys: keep the keys of jobs that are about to be removed; uses the key of the table.
insert into holdfast_kept_key (
    owner, pipeline, key, version, job_id, fingerprint, state, created_at, finished_at, removed_at,
    memo
)
select job.owner, job.pipeline, job.key, job.version, job.id, job.fingerprint, job.state,
       job.created_at, job.finished_at, :removed_at, going.value ->> 'memo'
  from json_each(:rows) as going
  join holdfast_job as job on job.id = going.value ->> 'id'
 where true
on conflict do nothing
