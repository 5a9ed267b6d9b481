-- audit_record: write down who did what, when and why.
insert into holdfast_audit (at, done_by, action, subject_kind, subject, reason, detail)
values (
    :at, :done_by, :action, :subject_kind, :subject, :reason, :detail
)
