-- The step that the grader last named, for each submission and run of it.
create table grading.progress (
    submission_id text primary key,
    run bigint not null,
    event_id text not null,
    event_at_us bigint not null,
    rank bigint not null,
    step text not null,
    progress double precision not null,
    message text not null,
    attempts_made bigint
);

-- Results that count for the figures of learners: completed in time.
create table grading.score (
    submission_id text primary key,
    owner text not null,
    skill text not null,
    overall double precision not null,
    usd double precision not null,
    completed_at_us bigint not null
);
create index grading_score_by_owner on grading.score (owner, skill, completed_at_us);
create index grading_score_by_time on grading.score (completed_at_us);

-- Results that wait for a teacher, and what became of them.
create table grading.review (
    submission_id text primary key,
    owner text not null,
    urgency bigint not null,
    created_at_us bigint not null,
    claimed_by text,
    claimed_until_us bigint,
    reviewer text,
    human text,
    final text,
    reviewed_at_us bigint
);
create index grading_review_open on grading.review (urgency, created_at_us) where final is null;

-- How many submissions an owner has made in the current minute.
create table grading.rate (
    owner text primary key,
    since_us bigint not null,
    used bigint not null
);

-- Questions that instructors add to the packaged ones.
create table grading.question (
    id text primary key,
    skill text not null,
    document text not null,
    created_by text not null,
    created_at_us bigint not null
);

-- Recordings: the bytes are in files that the hash names.
create table grading.audio (
    audio_id text primary key,
    owner text not null,
    sha256 text not null,
    bytes bigint not null,
    media_type text not null,
    seconds double precision not null,
    created_at_us bigint not null,
    unique (owner, sha256)
);
create index grading_audio_by_hash on grading.audio (sha256);
create index grading_audio_by_time on grading.audio (created_at_us);

-- Keys that processes share, such as the one that signs links to recordings.
create table grading.secret (
    name text primary key,
    value text not null
);

-- When something was last noticed, such as a callback of a grader.
create table grading.seen (
    name text primary key,
    at_us bigint not null
);
