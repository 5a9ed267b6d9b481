-- letter: one dead letter; uses dead_letter_pkey.
select @letter_columns@
  from holdfast.dead_letter as letter
 where letter.id = %(id)s and (%(owner)s::text is null or letter.owner = %(owner)s)
