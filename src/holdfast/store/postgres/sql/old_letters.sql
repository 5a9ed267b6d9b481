-- old_letters: the next dead letters resolved long ago, in that order; uses dead_letter_resolved.
select letter.id, letter.kind, letter.resolved_at
  from holdfast.dead_letter as letter
 where letter.state = 'resolved'
   and letter.resolved_at <= %(resolved)s
   and (letter.resolved_at, letter.id) > (%(after_at)s, %(after)s)
 order by letter.resolved_at, letter.id
 limit %(limit)s
