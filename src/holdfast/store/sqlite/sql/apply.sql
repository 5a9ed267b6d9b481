-- apply: write one decision; a job whose revision has moved on is left alone. Uses the key of id.
update holdfast_job
   set state = ?,
       stage = ?,
       run = ?,
       attempt = ?,
       token = ?,
       run_at = ?,
       deadline_at = ?,
       holder = ?,
       lease_until = ?,
       attempt_at = ?,
       finished_at = ?,
       snoozes = ?,
       interruptions = ?,
       retries = ?,
       result = ?,
       error = ?,
       error_class = ?,
       late_result = ?,
       updated_at = ?,
       revision = revision + 1
 where id = ? and revision = ?
