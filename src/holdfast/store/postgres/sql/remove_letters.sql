-- remove_letters: remove these dead letters; uses the key of the table.
delete from holdfast.dead_letter
 where id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
