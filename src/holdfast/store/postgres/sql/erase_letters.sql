-- erase_letters: the next dead letters of an owner; uses dead_letter_owner.
select id from holdfast.dead_letter
 where owner = %(owner)s and owner <> '' and id > %(after)s
 order by id
 limit %(limit)s
