-- A mailbox: up to where it is known, and the poll that is under way or was last.
create table collabiq.mailbox (
    mailbox text primary key,
    history_id text,
    good_at_us bigint,
    poll_id text,
    polls bigint not null,
    polled_at_us bigint,
    found bigint,
    kind text,
    next_look_us bigint,
    looking_until_us bigint,
    refused_grant text,
    watched_until_us bigint
);

-- Every mail that was noticed. One without a job waits for its turn.
create table collabiq.email (
    email_id text primary key,
    number bigint not null,
    mailbox text not null,
    source text not null,
    version bigint not null,
    job_id text,
    correction_id text,
    status text not null,
    reason text,
    review text not null,
    subject text,
    sender text,
    received_at_us bigint,
    message_id text,
    startup_name text,
    partner_org text,
    person_in_charge text,
    happened_on text,
    details text,
    confidence double precision,
    usd double precision not null,
    page_id text,
    page_url text,
    row_state text not null,
    looked_up_us bigint,
    writing_since_us bigint,
    noticed_at_us bigint not null,
    updated_at_us bigint not null
);
create unique index collabiq_email_by_number on collabiq.email (number);
create index collabiq_email_by_status on collabiq.email (status, number);
create index collabiq_email_by_job on collabiq.email (job_id);
create index collabiq_email_by_message on collabiq.email (message_id);
create index collabiq_email_by_pair on collabiq.email (startup_name, partner_org);
create index collabiq_email_by_time on collabiq.email (updated_at_us);
create index collabiq_email_by_row_state on collabiq.email (row_state, number);

-- The bytes of mails that were sent in.
create table collabiq.upload (
    email_id text primary key,
    raw bytea not null
);

-- What a person put in place of the payload of a dead letter.
create table collabiq.replacement (
    job_id text primary key,
    payload text not null,
    given_by text not null,
    given_at text not null
);

-- What was read of Notion: columns, companies, people, and how far a reading has come.
create table collabiq.directory (
    name text primary key,
    document text not null,
    read_at_us bigint not null
);

-- Numbers that are given once.
create table collabiq.counter (
    name text primary key,
    value bigint not null
);
