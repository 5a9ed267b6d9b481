-- lock_free: lock those of these jobs that nobody else has locked; uses job_pkey.
select id::text from holdfast.job where id = any(%(ids)s::uuid[]) order by job.id for update skip locked
