-- letter_correct: note that the job of a dead letter has another payload, unless the letter has moved since.
update holdfast_dead_letter
   set revision = revision + 1,
       updated_at = :updated_at
 where id = :id and revision = :revision
