-- drain_ask: tell a worker to end, unless it has ended or was told; uses the key of id.
update holdfast_worker
   set drain_asked_at = :at, drain_asked_by = :by
 where id = :id and state <> 'stopped' and drain_asked_at is null
