-- letter: one dead letter.
select @letter_columns@
  from holdfast_dead_letter as letter
 where letter.id = :id and (:owner is null or letter.owner = :owner)
