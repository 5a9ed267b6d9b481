-- Sessions of browsers that were ended before their time; whoever kept the cookie has nothing of it.
create table holdfast_ended_session (
    id         text    not null primary key,
    expires_at integer not null
) strict, without rowid;

create index holdfast_ended_session_expires on holdfast_ended_session (expires_at);
