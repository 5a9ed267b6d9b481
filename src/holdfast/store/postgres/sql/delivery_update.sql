-- delivery_update: write a delivery as it was decided, unless it has moved since.
update holdfast.delivery
   set revision = revision + 1,
       job_id = %(job_id)s,
       stage = %(stage)s,
       required = %(required)s,
       state = %(state)s,
       run_at = %(run_at)s,
       holder = %(holder)s,
       lease_until = %(lease_until)s,
       attempts = %(attempts)s,
       lookups = %(lookups)s,
       began_at = %(began_at)s,
       notification_id = %(notification_id)s,
       notified_at = %(notified_at)s,
       error_class = %(error_class)s,
       error = %(error)s,
       doubted_at = %(doubted_at)s,
       checked_at = %(checked_at)s,
       job_told = %(job_told)s,
       updated_at = %(updated_at)s
 where id = %(id)s and revision = %(revision)s
