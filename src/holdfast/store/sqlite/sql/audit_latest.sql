-- audit_latest: what was done of late, newest first, to one kind of thing or to one thing.
select at, done_by, action, subject_kind, subject, reason, detail, id
  from holdfast_audit
 where (:subject_kind is null or subject_kind = :subject_kind)
   and (:subject is null or subject = :subject)
   and (:before is null or id < :before)
 order by id desc
 limit :limit
