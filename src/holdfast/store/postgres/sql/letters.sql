-- letters: dead letters that match a filter, newest job first; walks an index by id.
select @letter_columns@
  from holdfast.dead_letter as letter
 where (%(before)s::text is null or letter.id < %(before)s)
   and (%(states)s::text is null or letter.state = any(string_to_array(%(states)s, ',')))
   and (%(pipeline)s::text is null or letter.pipeline = %(pipeline)s)
   and (%(stage)s::text is null or letter.stage = %(stage)s)
   and (%(queue)s::text is null or letter.queue = %(queue)s)
   and (%(owner)s::text is null or letter.owner = %(owner)s)
   and (%(error_class)s::text is null or letter.error_class = %(error_class)s)
   and (%(fingerprint)s::text is null or letter.fingerprint = %(fingerprint)s)
   and (%(escalated)s::integer is null or %(escalated)s = case
          when letter.deaths > 1 and letter.retryable = 0
               and letter.previous_class = letter.error_class then 1 else 0 end)
   and (%(failed_since)s::bigint is null or letter.last_failure_at >= %(failed_since)s)
   and (%(failed_until)s::bigint is null or letter.last_failure_at < %(failed_until)s)
 order by letter.id desc
 limit %(limit)s
