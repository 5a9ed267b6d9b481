-- remove_replay_items: remove some of a replay's list, from its start; uses the key of the table.
delete from holdfast_replay_item
 where rowid in (
    select item.rowid
      from holdfast_replay_item as item
     where item.replay_id = :id
     order by item.position
     limit :limit
 )
