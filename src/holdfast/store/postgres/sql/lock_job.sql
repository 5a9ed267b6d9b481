-- lock_job: hold a job's row until the transaction ends; uses job_pkey.
select id::text from holdfast.job where id = %(id)s for update
