-- letter_update: write what a person did about a dead letter, unless it has moved since.
update holdfast.dead_letter
   set state = %(state)s,
       revision = revision + 1,
       updated_at = %(updated_at)s,
       cause = %(cause)s,
       evidence = %(evidence)s,
       note = %(note)s,
       replayed_at = %(replayed_at)s,
       resolved_at = %(resolved_at)s
 where id = %(id)s and revision = %(revision)s
