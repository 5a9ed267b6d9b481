-- old_letters: the next dead letters resolved long ago; uses holdfast_dead_letter_resolved.
select letter.id, letter.kind, letter.resolved_at
  from holdfast_dead_letter as letter
 where letter.state = 'resolved'
   and letter.resolved_at <= :resolved
   and (letter.resolved_at, letter.id) > (:after_at, :after)
 order by letter.resolved_at, letter.id
 limit :limit
