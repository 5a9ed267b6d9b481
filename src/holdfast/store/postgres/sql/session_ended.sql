-- session_ended: whether a session was ended; uses the key.
select 1 from holdfast.ended_session where id = %(id)s
