-- letters: dead letters that match a filter, newest job first; walks an index by id.
-- Conditions that nothing was given for are left out.
select @letter_columns@
  from holdfast_dead_letter as letter
 where letter.id < coalesce(:before, '~')
   and (:states is null or instr(',' || :states || ',', ',' || letter.state || ',') > 0)
   and (:pipeline is null or letter.pipeline = :pipeline)
   and (:stage is null or letter.stage = :stage)
   and (:queue is null or letter.queue = :queue)
   and (:owner is null or letter.owner = :owner)
   and (:any_owner is null or letter.owner <> '')
   and (:error_class is null or letter.error_class = :error_class)
   and (:fingerprint is null or letter.fingerprint = :fingerprint)
   and (:escalated is null or :escalated = case
          when letter.deaths > 1 and letter.retryable = 0
               and letter.previous_class = letter.error_class then 1 else 0 end)
   and (:failed_since is null or letter.last_failure_at >= :failed_since)
   and (:failed_until is null or letter.last_failure_at < :failed_until)
 order by letter.id desc
 limit :limit
