-- session_ended: whether a session was ended; uses the key.
select 1 from holdfast_ended_session where id = :id
