-- remove_replay_items: remove some of a replay's list, from its start; uses the key of the table.
delete from holdfast.replay_item as item
 using (
    select position
      from holdfast.replay_item
     where replay_id = %(id)s
     order by position
     limit %(limit)s
 ) as part
 where item.replay_id = %(id)s and item.position = part.position
