-- letter_insert: keep a dead letter that no job here left, unless it is there already.
insert into holdfast_dead_letter (
    id, kind, pipeline, stage, queue, owner, error_class, previous_class, category, severity,
    retryable, outcome_known, http_status, attempts, deaths, first_failure_at, last_failure_at,
    holder, message, exception_type, stack, fingerprint, payload, state, revision, updated_at,
    cause, evidence, note, replayed_at, resolved_at, origin
)
values (
    :id, :kind, :pipeline, :stage, :queue, :owner, :error_class, :previous_class, :category,
    :severity, :retryable, :outcome_known, :http_status, :attempts, :deaths, :first_failure_at,
    :last_failure_at, :holder, :message, :exception_type, :stack, :fingerprint, :payload,
    :state, :revision, :updated_at, :cause, :evidence, :note, :replayed_at, :resolved_at,
    :origin
)
on conflict do nothing
