-- What came of each send and lookup of a delivery; the rows go with the delivery.
create table holdfast.delivery_attempt (
    delivery_id     text     not null collate "C",
    revision        integer  not null,
    at              bigint   not null,
    attempt         integer  not null,
    outcome         text     not null collate "C",
    error_class     text     collate "C",
    http_status     smallint,
    notification_id text,
    holder          text     collate "C",
    message         text,
    primary key (delivery_id, revision)
);

-- When the outcome of an open send became a question.
alter table holdfast.delivery add column doubted_at bigint;
