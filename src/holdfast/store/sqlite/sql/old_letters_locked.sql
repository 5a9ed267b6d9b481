-- old_letters_locked: those of these dead letters that are still old; uses their key.
select letter.id
  from holdfast_dead_letter as letter
 where letter.id in (select value from json_each(:ids))
   and letter.state = 'resolved'
   and letter.resolved_at <= :resolved
