-- erase_replays: the replays of an owner's letters alone; reads the table.
select id from holdfast_replay where owner = :owner
