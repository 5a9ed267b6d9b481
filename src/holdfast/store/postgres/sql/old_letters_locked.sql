-- old_letters_locked: those of these dead letters that are still old, locked; uses their key.
-- What somebody else has locked is left out: it can go another time.
select letter.id
  from holdfast.dead_letter as letter
 where letter.id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
   and letter.state = 'resolved'
   and letter.resolved_at <= %(resolved)s
   for update of letter skip locked
