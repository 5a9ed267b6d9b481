-- letter_insert: keep a dead letter that no job here left, unless it is there already.
insert into holdfast.dead_letter (
    id, kind, pipeline, stage, queue, owner, error_class, previous_class, category, severity,
    retryable, outcome_known, http_status, attempts, deaths, first_failure_at, last_failure_at,
    holder, message, exception_type, stack, fingerprint, payload, state, revision, updated_at,
    cause, evidence, note, replayed_at, resolved_at, origin
)
values (
    %(id)s, %(kind)s, %(pipeline)s, %(stage)s, %(queue)s, %(owner)s, %(error_class)s,
    %(previous_class)s, %(category)s, %(severity)s, %(retryable)s, %(outcome_known)s,
    %(http_status)s, %(attempts)s, %(deaths)s, %(first_failure_at)s, %(last_failure_at)s,
    %(holder)s, %(message)s, %(exception_type)s, %(stack)s, %(fingerprint)s, %(payload)s,
    %(state)s, %(revision)s, %(updated_at)s, %(cause)s, %(evidence)s, %(note)s, %(replayed_at)s,
    %(resolved_at)s, %(origin)s
)
on conflict do nothing
