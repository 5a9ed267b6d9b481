-- letter_times: when the letters of a cause that wait failed last, counted in spans; uses dead_letter_waiting.
select (last_failure_at - :first) / :step_us as span, count(*)
  from holdfast_dead_letter
 where state <> 'resolved'
   and state in ('open', 'triaged', 'remediated')
   and fingerprint = :fingerprint
   and (:owner is null or owner = :owner)
 group by 1
 order by 1
