-- old_messages: how many messages were published long ago; uses outbox_published.
select count(*) from holdfast.outbox where status = 'published' and processed_at <= %(published)s
