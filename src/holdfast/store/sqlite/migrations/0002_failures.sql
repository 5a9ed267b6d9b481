-- Breakers of upstreams, dead letters with what operators did about them, replays of many.

-- The body is what `holdfast.core.breaker` reads and writes; the revision guards it.
create table holdfast_upstream (
    name       text not null primary key,
    revision   integer not null,
    body       text    not null,
    updated_at integer  not null
) strict;

-- Job and dead letter share their id. What is known about the job stands in its own row.
create table holdfast_dead_letter (
    id               text not null primary key,
    kind             text     not null,
    pipeline         text     not null,
    stage            text     not null,
    queue            text     not null,
    owner            text     not null,
    error_class      text     not null,
    previous_class   text    ,
    category         text     not null,
    severity         text     not null,
    retryable        integer not null,
    outcome_known    integer not null,
    http_status      integer,
    attempts         integer  not null,
    deaths           integer  not null default 1,
    first_failure_at integer   not null,
    last_failure_at  integer   not null,
    holder           text    ,
    message          text     not null,
    exception_type   text     not null,
    stack            text     not null,
    fingerprint      text     not null,
    payload          text,
    state            text     not null default 'open',
    revision         integer  not null default 0,
    updated_at       integer   not null,
    cause            text    ,
    evidence         text,
    note             text,
    replayed_at      integer,
    resolved_at      integer,
    origin           text
) strict;

create index holdfast_dead_letter_group on holdfast_dead_letter (fingerprint, id)
    where state <> 'resolved';
create index holdfast_dead_letter_resolved on holdfast_dead_letter (resolved_at, id)
    where state = 'resolved';

create table holdfast_replay (
    id           text     not null primary key,
    name         text     not null,
    asked_by     text     not null,
    reason       text,
    created_at   integer  not null,
    updated_at   integer  not null,
    revision     integer  not null default 0,
    state        text     not null,
    from_start   integer  not null,
    canary       integer  not null,
    every_us     integer  not null,
    stop_after   integer  not null,
    last_sent_at integer,
    note         text
) strict;

-- Retries are those of the letter's job when the list was frozen: they fence its replay.
create table holdfast_replay_item (
    replay_id text    not null,
    position  integer not null,
    letter_id text    not null,
    state     text    not null default 'pending',
    retries   integer not null,
    sent_at   integer,
    note      text,
    primary key (replay_id, position)
) strict;

create index holdfast_replay_item_state on holdfast_replay_item (replay_id, state, position);

create table holdfast_audit (
    id           integer primary key autoincrement,
    at           integer not null,
    done_by      text   not null,
    action       text   not null,
    subject_kind text   not null,
    subject      text   not null,
    reason       text,
    detail       text
) strict;

create index holdfast_audit_subject on holdfast_audit (subject_kind, subject, id);
