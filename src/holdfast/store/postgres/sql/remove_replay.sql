-- remove_replay: remove a replay whose list is gone; uses the key of the table.
delete from holdfast.replay where id = %(id)s
