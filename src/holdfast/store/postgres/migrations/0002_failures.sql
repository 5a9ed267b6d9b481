-- Breakers of upstreams, dead letters with what operators did about them, replays of many.

-- The body is what `holdfast.core.breaker` reads and writes; the revision guards it.
create table holdfast.upstream (
    name       text    primary key collate "C",
    revision   integer not null,
    body       text    not null,
    updated_at bigint  not null
);

-- Job and dead letter share their id. What is known about the job stands in its own row.
create table holdfast.dead_letter (
    id               text     primary key collate "C",
    kind             text     not null collate "C",
    pipeline         text     not null collate "C",
    stage            text     not null collate "C",
    queue            text     not null collate "C",
    owner            text     not null collate "C",
    error_class      text     not null collate "C",
    previous_class   text     collate "C",
    category         text     not null collate "C",
    severity         text     not null collate "C",
    retryable        smallint not null,
    outcome_known    smallint not null,
    http_status      smallint,
    attempts         integer  not null,
    deaths           integer  not null default 1,
    first_failure_at bigint   not null,
    last_failure_at  bigint   not null,
    holder           text     collate "C",
    message          text     not null,
    exception_type   text     not null,
    stack            text     not null,
    fingerprint      text     not null collate "C",
    payload          text,
    state            text     not null collate "C" default 'open',
    revision         integer  not null default 0,
    updated_at       bigint   not null,
    cause            text     collate "C",
    evidence         text,
    note             text,
    replayed_at      bigint,
    resolved_at      bigint,
    origin           text
);

create index dead_letter_group on holdfast.dead_letter (fingerprint, id)
    where state <> 'resolved';
create index dead_letter_resolved on holdfast.dead_letter (resolved_at, id)
    where state = 'resolved';

create table holdfast.replay (
    id           text     primary key collate "C",
    name         text     not null,
    asked_by     text     not null,
    reason       text,
    created_at   bigint   not null,
    updated_at   bigint   not null,
    revision     integer  not null default 0,
    state        text     not null collate "C",
    from_start   smallint not null,
    canary       integer  not null,
    every_us     bigint   not null,
    stop_after   integer  not null,
    last_sent_at bigint,
    note         text
);

-- Retries are those of the letter's job when the list was frozen: they fence its replay.
create table holdfast.replay_item (
    replay_id text    not null collate "C",
    position  integer not null,
    letter_id text    not null collate "C",
    state     text    not null collate "C" default 'pending',
    retries   integer not null,
    sent_at   bigint,
    note      text,
    primary key (replay_id, position)
);

create index replay_item_state on holdfast.replay_item (replay_id, state, position);

create table holdfast.audit (
    id           bigint generated always as identity primary key,
    at           bigint not null,
    done_by      text   not null,
    action       text   not null collate "C",
    subject_kind text   not null collate "C",
    subject      text   not null collate "C",
    reason       text,
    detail       text
);

create index audit_subject on holdfast.audit (subject_kind, subject, id);
