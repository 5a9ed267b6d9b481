-- erase_audit: take out of the record why, and how, something was done to these; uses audit_subject.
update holdfast.audit set reason = null, detail = null
 where subject_kind in (select value from jsonb_array_elements_text(%(kinds)s::jsonb))
   and subject in (select value from jsonb_array_elements_text(%(subjects)s::jsonb))
   and (reason is not null or detail is not null)
