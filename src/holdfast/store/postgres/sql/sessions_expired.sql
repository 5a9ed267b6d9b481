-- sessions_expired: forget sessions that would be over by now; uses ended_session_expires.
delete from holdfast.ended_session where expires_at <= %(now)s
