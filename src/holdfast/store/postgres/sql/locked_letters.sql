-- locked_letters: those of these dead letters that somebody else has locked; locks the others.
with free as materialized (
    select letter.id
      from holdfast.dead_letter as letter
     where letter.id = any(%(ids)s::text[])
     order by letter.id
       for update skip locked
)
select letter.id
  from holdfast.dead_letter as letter
 where letter.id = any(%(ids)s::text[])
   and letter.id not in (select free.id from free)
