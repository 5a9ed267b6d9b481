-- erase_letters: the next dead letters of an owner; uses holdfast_dead_letter_owner.
select id from holdfast_dead_letter
 where owner = :owner and owner <> '' and id > :after
 order by id
 limit :limit
