-- outbox_remove: remove messages that were published long ago; uses outbox_published.
delete from holdfast_outbox
 where position in (
        select position
          from holdfast_outbox
         where status = 'published' and processed_at <= :published
         order by processed_at, position
         limit :limit
       )
