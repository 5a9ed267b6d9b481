-- letter_update: write what a person did about a dead letter, unless it has moved since.
update holdfast_dead_letter
   set state = :state,
       revision = revision + 1,
       updated_at = :updated_at,
       cause = :cause,
       evidence = :evidence,
       note = :note,
       replayed_at = :replayed_at,
       resolved_at = :resolved_at
 where id = :id and revision = :revision
