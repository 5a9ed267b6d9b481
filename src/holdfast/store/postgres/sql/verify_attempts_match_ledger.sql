-- verify_attempts_match_ledger: an attempt is under way, or its end is in the ledger.
-- Those that spent no attempt are left out. Counted since the job was last sent back, which starts the budget anew.
select job.id::text
  from holdfast.job as job
 where job.attempt - (
        select count(*)
          from holdfast.ledger as entry
         where entry.job_id = job.id
           and entry.kind = 'retried'
           and entry.detail::jsonb ->> 'spends_attempt' is null
           and entry.stage = job.stage
           and entry.revision > (
                select coalesce(max(revived.revision), 0)
                  from holdfast.ledger as revived
                 where revived.job_id = job.id and revived.kind = 'revived'
               )
       ) not between case when job.state in ('processing', 'waiting', 'complete') then 1 else 0 end
                 and case when job.state = 'queued' then 0 else 1 end
 limit 1000
