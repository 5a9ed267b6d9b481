-- How many recordings an owner has sent in the current minute.
create table grading.upload_rate (
    owner text primary key,
    since_us bigint not null,
    used bigint not null
);
