-- replays_handed_over: replays to be run by whoever serves; looks into audit_subject for each open one.
select replay.id, replay.name, replay.asked_by, replay.reason, replay.created_at,
       replay.updated_at, replay.revision, replay.state, replay.from_start, replay.canary,
       replay.every_us, replay.stop_after, replay.last_sent_at, replay.note,
       replay.owner
  from holdfast.replay as replay
 where replay.state in ('planned', 'canary', 'running')
   and exists (select 1
                 from holdfast.audit as entry
                where entry.subject_kind = 'replay'
                  and entry.subject = replay.id
                  and entry.action = %(action)s)
 order by replay.id
