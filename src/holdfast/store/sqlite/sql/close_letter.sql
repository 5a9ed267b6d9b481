-- close_letter: close the dead letter of a job that was sent back and then refused.
update holdfast_dead_letter
   set state = 'resolved',
       revision = revision + 1,
       updated_at = :at,
       resolved_at = :at,
       note = :note
 where id = :job_id
