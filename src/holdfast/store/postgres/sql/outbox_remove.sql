-- outbox_remove: remove messages that were published long ago; uses outbox_published.
delete from holdfast.outbox
 where position in (
        select position
          from holdfast.outbox
         where status = 'published' and processed_at <= %(published)s
         order by processed_at, position
         limit %(limit)s
           for update skip locked
       )
