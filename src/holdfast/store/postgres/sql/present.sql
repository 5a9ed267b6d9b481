-- present: which of these ids are stored; uses job_pkey.
select id::text from holdfast.job where id = any(%(ids)s::uuid[])
