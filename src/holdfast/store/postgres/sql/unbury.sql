-- unbury: note that a job which had failed was sent back; uses dead_letter_pkey.
update holdfast.dead_letter
   set state = 'replayed',
       revision = revision + 1,
       updated_at = %(at)s,
       replayed_at = %(at)s,
       resolved_at = null
 where id = %(job_id)s
