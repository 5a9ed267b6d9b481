-- letter_groups: the causes for which dead letters wait, the one with most letters first.
-- It reads all that wait, by dead_letter_waiting. The latest letter is found by what sorts like its time and its id, so
-- that many letters are counted without being put in order.
-- First by pipeline: telling those apart within a group would be left to one process.
with counted as (
    select fingerprint, pipeline,
           max(error_class) as error_class,
           max(stage) as stage,
           count(*) as letters,
           count(*) filter (where deaths > 1 and retryable = 0 and previous_class = error_class)
               as escalated,
           min(first_failure_at) as first_failure_at,
           max(last_failure_at) as last_failure_at,
           max((lpad(last_failure_at::text, 20, '0') || id) collate "C") as latest
      from holdfast.dead_letter
     where state <> 'resolved'
       and state in ('open', 'triaged', 'remediated')
       and (%(owner)s::text is null or owner = %(owner)s)
       and (%(fingerprint)s::text is null or fingerprint = %(fingerprint)s)
     group by fingerprint, pipeline
), grouped as (
    select fingerprint,
           max(error_class) as error_class,
           max(stage) as stage,
           array_to_json(array_agg(pipeline order by pipeline))::text as pipelines,
           sum(letters)::bigint as letters,
           sum(escalated)::bigint as escalated,
           min(first_failure_at) as first_failure_at,
           max(last_failure_at) as last_failure_at,
           substr(max(latest collate "C"), 21) as latest
      from counted
     group by fingerprint
     order by sum(letters) desc, max(last_failure_at) desc, fingerprint
     limit %(limit)s
)
select grouped.fingerprint, grouped.error_class, grouped.stage, grouped.pipelines, grouped.letters,
       grouped.escalated, grouped.first_failure_at, grouped.last_failure_at, letter.id,
       letter.message, letter.exception_type, letter.category, letter.http_status,
       exists (select 1
                 from holdfast.delivery as delivery
                where delivery.job_id = letter.id and delivery.state = 'unknown')
  from grouped
  join holdfast.dead_letter as letter on letter.id = grouped.latest
 order by grouped.letters desc, grouped.last_failure_at desc, grouped.fingerprint
