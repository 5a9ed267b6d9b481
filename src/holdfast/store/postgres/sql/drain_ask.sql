-- drain_ask: tell a worker to end, unless it has ended or was told; uses the key of id.
update holdfast.worker
   set drain_asked_at = %(at)s, drain_asked_by = %(by)s
 where id = %(id)s and state <> 'stopped' and drain_asked_at is null
