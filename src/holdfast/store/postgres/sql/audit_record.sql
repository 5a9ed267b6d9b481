-- audit_record: write down who did what, when and why.
insert into holdfast.audit (at, done_by, action, subject_kind, subject, reason, detail)
values (
    %(at)s, %(done_by)s, %(action)s, %(subject_kind)s, %(subject)s, %(reason)s, %(detail)s
)
