-- with_letters: those of these jobs that have dead letters; uses dead_letter_pkey.
select letter.id
  from holdfast.dead_letter as letter
 where letter.id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
