-- verify_letter_steps_in_order: a dead letter holds what its steps so far have found, and no more.
select letter.id
  from holdfast.dead_letter as letter
 where case letter.state
         when 'open' then letter.cause is not null or letter.evidence is not null
         when 'triaged' then letter.cause is null or letter.evidence is not null
         when 'remediated' then letter.cause is null or letter.evidence is null
         when 'replayed' then letter.replayed_at is null
         when 'resolved' then letter.note is null
         else true
       end
    or (letter.resolved_at is not null) <> (letter.state = 'resolved')
 limit 1000
