-- twins_of_many: the job that holds each of many keys; uses job_key.
select given.position, job.id::text, job.version, job.fingerprint, job.state
  from unnest(%(owner)s::text[], %(pipeline)s::text[], %(key)s::text[])
       with ordinality as given (owner, pipeline, key, position)
  join holdfast.job
    on job.owner = given.owner and job.pipeline = given.pipeline and job.key = given.key
   and job.rerun_of is null
