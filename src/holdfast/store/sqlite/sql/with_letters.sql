-- with_letters: those of these jobs that have dead letters; uses the key of the table.
select letter.id
  from holdfast_dead_letter as letter
 where letter.id in (select value from json_each(:ids))
