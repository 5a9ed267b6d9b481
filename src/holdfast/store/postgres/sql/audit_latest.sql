-- audit_latest: what was done of late, newest first, to one kind of thing or to one thing.
select at, done_by, action, subject_kind, subject, reason, detail, id
  from holdfast.audit
 where (%(subject_kind)s::text is null or subject_kind = %(subject_kind)s)
   and (%(subject)s::text is null or subject = %(subject)s)
   and (%(before)s::bigint is null or id < %(before)s)
 order by id desc
 limit %(limit)s
