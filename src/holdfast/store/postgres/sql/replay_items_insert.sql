-- replay_items_insert: freeze letters of a replay; each is position, letter, state, retries, note.
insert into holdfast.replay_item (replay_id, position, letter_id, state, retries, note)
select %(replay_id)s, (item ->> 0)::integer, item ->> 1, item ->> 2, (item ->> 3)::integer,
       item ->> 4
  from jsonb_array_elements(%(items)s::jsonb) as item
