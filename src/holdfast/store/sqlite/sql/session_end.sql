-- session_end: let nobody in by the cookie of a session any more.
insert into holdfast_ended_session (id, expires_at)
values (:id, :expires_at)
on conflict do nothing
