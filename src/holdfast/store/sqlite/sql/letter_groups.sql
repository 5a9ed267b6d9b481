-- letter_groups: the causes for which dead letters wait, the one with most letters first.
-- It reads all that wait, by dead_letter_waiting. The latest letter is looked for once a cause is among those listed, so
-- that many letters are counted without being put in order.
with grouped as (
    select fingerprint,
           max(error_class) as error_class,
           max(stage) as stage,
           json_group_array(distinct pipeline) as pipelines,
           count(*) as letters,
           sum(case when deaths > 1 and retryable = 0 and previous_class = error_class
                    then 1 else 0 end) as escalated,
           min(first_failure_at) as first_failure_at,
           max(last_failure_at) as last_failure_at
      from holdfast_dead_letter
     where state <> 'resolved'
       and state in ('open', 'triaged', 'remediated')
       and (:owner is null or owner = :owner)
       and (:fingerprint is null or fingerprint = :fingerprint)
     group by fingerprint
     order by count(*) desc, max(last_failure_at) desc, fingerprint
     limit :limit
)
select grouped.fingerprint, grouped.error_class, grouped.stage, grouped.pipelines, grouped.letters,
       grouped.escalated, grouped.first_failure_at, grouped.last_failure_at, letter.id,
       letter.message, letter.exception_type, letter.category, letter.http_status,
       exists (select 1
                 from holdfast_delivery as delivery
                where delivery.job_id = letter.id and delivery.state = 'unknown')
  from grouped
  join holdfast_dead_letter as letter on letter.id = (
        select max(latest.id)
          from holdfast_dead_letter as latest indexed by holdfast_dead_letter_waiting
         where latest.fingerprint = grouped.fingerprint
           and latest.state <> 'resolved'
           and latest.state in ('open', 'triaged', 'remediated')
           and (:owner is null or latest.owner = :owner)
           and latest.last_failure_at = grouped.last_failure_at
       )
 order by grouped.letters desc, grouped.last_failure_at desc, grouped.fingerprint
