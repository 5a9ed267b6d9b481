-- erase_audit: take out of the record why, and how, something was done to these; uses audit_subject.
update holdfast_audit set reason = null, detail = null
 where subject_kind in (select value from json_each(:kinds))
   and subject in (select value from json_each(:subjects))
   and (reason is not null or detail is not null)
