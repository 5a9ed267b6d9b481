-- unbury: note that a job which had failed was sent back.
update holdfast_dead_letter
   set state = 'replayed',
       revision = revision + 1,
       updated_at = :at,
       replayed_at = :at,
       resolved_at = null
 where id = :job_id
