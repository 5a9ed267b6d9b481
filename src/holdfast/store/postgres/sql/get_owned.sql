-- get_owned: jobs by id, of one owner; uses job_pkey.
select @job_columns@
  from holdfast.job
 where id = any(%(ids)s::uuid[]) and owner = %(owner)s
