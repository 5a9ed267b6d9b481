-- session_end: let nobody in by the cookie of a session any more.
insert into holdfast.ended_session (id, expires_at)
values (%(id)s, %(expires_at)s)
on conflict do nothing
