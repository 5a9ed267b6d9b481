-- job_correct: give a failed job another payload, unless it has moved since; uses the key of the table.
update holdfast.job
   set payload = %(payload)s
 where id = %(id)s::uuid and state = 'failed' and revision = %(job_revision)s
