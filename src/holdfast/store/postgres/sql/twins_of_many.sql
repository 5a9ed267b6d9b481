-- twins_of_many: the job that holds each of many keys, also one that was removed:
-- uses job_key and kept_key_pkey.
with given as (
    select *
      from unnest(%(owner)s::text[], %(pipeline)s::text[], %(key)s::text[])
           with ordinality as asked (owner, pipeline, key, position)
)
select given.position, kept.job_id::text, kept.version, kept.fingerprint, kept.state,
       kept.created_at, kept.finished_at, kept.removed_at, kept.memo
  from given
  join holdfast.kept_key as kept
    on kept.owner = given.owner and kept.pipeline = given.pipeline and kept.key = given.key
 union all
select given.position, job.id::text, job.version, job.fingerprint, job.state,
       job.created_at, job.finished_at, null, null
  from given
  join holdfast.job
    on job.owner = given.owner and job.pipeline = given.pipeline and job.key = given.key
   and job.rerun_of is null
