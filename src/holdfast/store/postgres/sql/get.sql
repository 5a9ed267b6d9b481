-- get: jobs by id; uses job_pkey.
select @job_columns@ from holdfast.job where id = any(%(ids)s::uuid[])
