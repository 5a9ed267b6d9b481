-- letter_standing: how many dead letters wait for a person, and how many are escalated:
-- uses dead_letter_group.
select count(*),
       coalesce(sum(case when deaths > 1 and retryable = 0 and previous_class = error_class
                    then 1 else 0 end), 0)
  from holdfast.dead_letter
 where state <> 'resolved'
   and state in ('open', 'triaged', 'remediated')
