-- Sessions of browsers that were ended before their time; whoever kept the cookie has nothing of it.
create table holdfast.ended_session (
    id         text   primary key collate "C",
    expires_at bigint not null
);

create index ended_session_expires on holdfast.ended_session (expires_at);
