-- letter_times: when the letters of a cause that wait failed last, counted in spans; uses dead_letter_waiting.
select (last_failure_at - %(first)s::bigint) / %(step_us)s::bigint as span, count(*)
  from holdfast.dead_letter
 where state <> 'resolved'
   and state in ('open', 'triaged', 'remediated')
   and fingerprint = %(fingerprint)s
   and (%(owner)s::text is null or owner = %(owner)s)
 group by 1
 order by 1
