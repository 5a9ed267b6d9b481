-- letter_groups: the causes for which dead letters wait, the one with most letters first.
with waiting as (
    select letter.*,
           row_number() over (
               partition by letter.fingerprint, letter.pipeline
               order by letter.last_failure_at desc, letter.id desc
           ) as place
      from holdfast_dead_letter as letter
     where letter.state in ('open', 'triaged', 'remediated')
)
select fingerprint, max(error_class), max(stage), pipeline, count(*),
       sum(case when deaths > 1 and retryable = 0 and previous_class = error_class
                then 1 else 0 end),
       min(first_failure_at), max(last_failure_at),
       max(case when place = 1 then id end), max(case when place = 1 then message end)
  from waiting
 group by fingerprint, pipeline
 order by count(*) desc, max(last_failure_at) desc, fingerprint, pipeline
 limit :limit
