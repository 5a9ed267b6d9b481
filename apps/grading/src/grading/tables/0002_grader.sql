-- Requests that the grader has taken, each with the newest right to answer it.
create table grading.request (
    request_id text primary key,
    submission_id text not null,
    job_id text not null,
    attempt bigint not null,
    served_attempt bigint not null,
    callback_token text not null,
    trace text,
    answering bigint not null,
    received_at_us bigint not null
);
create index grading_request_by_job on grading.request (job_id);

-- The journal of paid calls: a row before the call, its answer before anything reads it.
create table grading.answer (
    token text primary key,
    call text not null,
    job_id text not null,
    number bigint not null,
    spent bigint not null,
    called_at_us bigint not null,
    answered_at_us bigint,
    provider text,
    body text,
    usage text,
    usd double precision not null
);
create index grading_answer_by_call on grading.answer (call, number);
create index grading_answer_by_time on grading.answer (called_at_us);
create index grading_answer_in_doubt on grading.answer (called_at_us) where answered_at_us is null;
