-- replay_items_insert: freeze letters of a replay; each is position, letter, state, retries, note.
insert into holdfast_replay_item (replay_id, position, letter_id, state, retries, note)
select :replay_id, item.value ->> 0, item.value ->> 1, item.value ->> 2, item.value ->> 3,
       item.value ->> 4
  from json_each(:items) as item
