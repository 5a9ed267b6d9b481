-- tail_actions: moves of breakers and queues that one mark shows and an earlier one did not, by id.
select at, done_by, action, subject_kind, subject, reason, detail
  from holdfast_audit
 where id > :since_audit
   and id <= :until_audit
   and subject_kind in ('upstream', 'queue')
 order by id
 limit :limit
