-- What reaches the outside: deliveries to recipients, messages for a broker, and what came back.

-- The duty to tell one recipient once. The message is frozen when the row is made.
create table holdfast.delivery (
    id              text     primary key collate "C",
    subject         text     not null collate "C",
    recipient       text     not null collate "C",
    version         integer  not null,
    job_id          text     collate "C",
    stage           text     collate "C",
    required        smallint not null,
    provider        text     not null collate "C",
    token           text     not null collate "C",
    message         text     not null,
    created_at      bigint   not null,
    state           text     not null collate "C" default 'intent',
    revision        integer  not null default 0,
    run_at          bigint   not null,
    holder          text     collate "C",
    lease_until     bigint,
    attempts        integer  not null default 0,
    lookups         integer  not null default 0,
    began_at        bigint,
    notification_id text,
    notified_at     bigint,
    error_class     text     collate "C",
    error           text,
    checked_at      bigint,
    job_told        smallint not null default 0,
    updated_at      bigint   not null
);

create unique index delivery_key on holdfast.delivery (subject, recipient, version);
create index delivery_due on holdfast.delivery (provider, run_at, id)
    where state in ('intent', 'sending');
create index delivery_leased on holdfast.delivery (provider, lease_until, id)
    where holder is not null;
create index delivery_job on holdfast.delivery (job_id) where job_id is not null;
create index delivery_untold on holdfast.delivery (job_id)
    where job_told = 0 and job_id is not null and state in ('sent', 'failed');
create index delivery_unchecked on holdfast.delivery (provider, notified_at, id)
    where state = 'sent' and checked_at is null;
create index delivery_unknown on holdfast.delivery (provider, id) where state = 'unknown';

-- Messages of one aggregate are published in the order of their positions.
create table holdfast.outbox (
    position      bigint   generated always as identity primary key,
    id            text     not null collate "C",
    aggregate_id  text     not null collate "C",
    message_type  text     not null collate "C",
    payload       text     not null,
    trace         text,
    status        text     not null collate "C" default 'pending',
    created_at    bigint   not null,
    processed_at  bigint,
    retry_count   integer  not null default 0,
    error_message text,
    run_at        bigint   not null,
    holder        text     collate "C",
    lease_until   bigint
);

create unique index outbox_id on holdfast.outbox (id);
create index outbox_pending on holdfast.outbox (run_at, position) where status = 'pending';
create index outbox_aggregate on holdfast.outbox (aggregate_id, position) where status = 'pending';
create index outbox_published on holdfast.outbox (processed_at, position)
    where status = 'published';
create index outbox_failed on holdfast.outbox (position) where status = 'failed';

-- What a consumer has handled; a message that comes again changes nothing.
create table holdfast.inbox (
    consumer    text   not null collate "C",
    message_id  text   not null collate "C",
    received_at bigint not null,
    primary key (consumer, message_id)
);

create index inbox_received on holdfast.inbox (received_at);

-- Keys that this database's programs share, such as the one that signs callback tokens.
create table holdfast.secret (
    name       text   primary key collate "C",
    value      text   not null,
    created_at bigint not null
);
