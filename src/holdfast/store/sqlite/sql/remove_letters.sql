-- remove_letters: remove these dead letters; uses the key of the table.
delete from holdfast_dead_letter where id in (select value from json_each(:ids))
