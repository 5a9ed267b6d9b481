-- retry: put a job back for another attempt, with fewer columns. Uses the key of id.
update holdfast_job
   set state = 'queued',
       attempt = ?,
       run_at = ?,
       holder = null,
       lease_until = null,
       updated_at = ?,
       revision = revision + 1
 where id = ? and revision = ?
