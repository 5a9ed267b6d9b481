-- delivery_update: write a delivery as it was decided, unless it has moved since.
update holdfast_delivery
   set revision = revision + 1,
       job_id = :job_id,
       stage = :stage,
       required = :required,
       state = :state,
       run_at = :run_at,
       holder = :holder,
       lease_until = :lease_until,
       attempts = :attempts,
       lookups = :lookups,
       began_at = :began_at,
       notification_id = :notification_id,
       notified_at = :notified_at,
       error_class = :error_class,
       error = :error,
       doubted_at = :doubted_at,
       checked_at = :checked_at,
       job_told = :job_told,
       updated_at = :updated_at
 where id = :id and revision = :revision
